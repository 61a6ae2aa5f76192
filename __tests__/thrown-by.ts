/** The error that `act` throws; a test that expects one fails when there is none. */
export function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("Expected an error, but nothing was thrown.");
}
