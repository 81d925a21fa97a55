/** Asks one question; `dueAt` is the moment at which it was to be asked, monotonic ms. */
export type AskDue<T> = (dueAt: number) => Promise<T>

/** Asks so many questions a second for some seconds, whatever the answers take. Rejects with the first failure. */
export async function askAtRate<T>(
  ask: AskDue<T>,
  perSecond: number,
  seconds: number,
): Promise<T[]> {
  const startedAt = performance.now()
  const asked: Promise<T>[] = []
  for (let i = 0; i < seconds * perSecond; i++) {
    const dueAt = startedAt + (i * 1000) / perSecond
    const waitMs = dueAt - performance.now()
    // A timer takes a millisecond at least: questions that are due are asked together.
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    asked.push(ask(dueAt))
  }
  return await Promise.all(asked)
}
