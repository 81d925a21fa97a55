/** The part of a process that delivers signals; tests replace it. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: (signal: NodeJS.Signals) => void): unknown
}

/** Exit codes that shells use for a process that a signal ended. */
const EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 }

/**
 * Time in which two signals count as one press of Ctrl-C: under `npm start` each press arrives twice,
 * from the terminal and from npm.
 */
const SAME_PRESS_MS = 500

/**
 * Resolves at the first SIGINT or SIGTERM, so that the command can shut down cleanly. A second press
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
