/** Makes the clock of this process wrong by so many milliseconds. */
export function skewClock(skewMs) {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(RealDate.now() + skewMs);
      else super(...args);
    }

    static now() {
      return RealDate.now() + skewMs;
    }
  };
}
