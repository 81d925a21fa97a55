/** What interruption needs of a process, so that a test can stand in for it. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: (signal: NodeJS.Signals) => void): unknown
}

/** Exit codes of a process that a signal ended, as shells write them. */
const EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 }

/**
 * One press of Ctrl-C under `npm start` arrives twice, from the terminal and from npm; only what
 * comes later than this is a second press.
 */
const SAME_PRESS_MS = 500

/**
 * Resolves at the first SIGINT or SIGTERM, so that the command can end in good order; a later one
 * calls `abandon` with the exit code of the signal.
 */
export function interruption(
  signals: SignalSource,
  nowMs: () => number,
  abandon: (exitCode: number) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (signal: NodeJS.Signals): void => {
      if (firstMs === undefined) {
        firstMs = nowMs()
        resolve()
      } else if (nowMs() - firstMs > SAME_PRESS_MS) abandon(EXIT_CODES[signal] ?? 1)
    }
    signals.on('SIGINT', onSignal)
    signals.on('SIGTERM', onSignal)
  })
}
