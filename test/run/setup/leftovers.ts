/** What runs beside a test file, such as its processes. A test that fails in the middle may leave some behind. */
export const LEFTOVERS = new Set<AsyncDisposable>()
