/** A map that drops its oldest entry when it is full, for values that can be computed again. */

export class BoundedCache<Key, Value> extends Map<Key, Value> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#limit) {
      for (const oldest of this.keys()) {
        this.delete(oldest);
        break;
      }
    }
    return super.set(key, value);
  }

  /** Keeps `value` and returns it. */
  keep(key: Key, value: Value): Value {
    this.set(key, value);
    return value;
  }
}
