/** Turns of the event loop while work is under way, in which other clients are answered. */
export async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let next = setImmediate(function again() {
    turns++
    next = setImmediate(again)
  })
  try {
    await work()
  } finally {
    clearImmediate(next)
  }
  return turns
}
