/** Most of a goal that is kept free for the way out: a pause of the process must not refuse every request. */
const MOST_OF_GOAL = 0.25
/** Part of a former longest time that is left after each shorter one. */
const DECAY = 0.99

/**
 * Time between the end of a run and the answer to the client. A model must answer so much before the goal of a request that
 * the answer is there at the goal.
 */
export class WayOut {
  private peakMs = 0

  /** An answer took so long from the end of its run on, ms. */
  observe(ms: number): void {
    this.peakMs = Math.max(ms, this.peakMs * DECAY)
  }

  /** What is left of a goal for the model, ms. */
  leave(goalMs: number): number {
    return goalMs - Math.min(this.peakMs, goalMs * MOST_OF_GOAL)
  }
}
