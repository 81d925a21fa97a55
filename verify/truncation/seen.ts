const LOOK_MS = 250

/** Whether a condition holds within a time. */
export async function seen(
  check: () => boolean | Promise<boolean>,
  limitMs: number,
): Promise<boolean> {
  const giveUpAt = performance.now() + limitMs
  while (!(await check())) {
    if (performance.now() > giveUpAt) return false
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  return true
}
