import type { RestartStrategyOptions } from '../../runtime/configuration/restart-strategy.ts'

/** A restart strategy in words. */
export function restartSentence(strategy: RestartStrategyOptions): string {
  switch (strategy.type) {
    case 'none':
      return 'no restart'
    case 'fixed-delay':
      return `at most ${strategy.attempts} restarts, ${strategy.delayMs} ms after a failure`
    case 'failure-rate':
      return `at most ${strategy.maxFailuresPerInterval} failures within ${strategy.failureRateIntervalMs} ms, restart after ${strategy.delayMs} ms`
    case 'exponential-delay':
      return `restart after ${strategy.initialBackoffMs} ms, each time ${strategy.backoffMultiplier} times longer up to ${strategy.maxBackoffMs} ms`
  }
}
