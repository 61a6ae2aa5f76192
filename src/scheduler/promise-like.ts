/** Whether what a host's function answered has to be waited for; waiting for what is there costs a promise. */
export function isPromiseLike<Answer>(answer: Answer | PromiseLike<Answer>): answer is PromiseLike<Answer> {
  return (
    typeof answer === "object" && answer !== null && "then" in answer && typeof answer.then === "function"
  );
}
