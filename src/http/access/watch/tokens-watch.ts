import type { Cancel, Clock } from '../../../core/clock.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import type { TokenRecord } from '../token.ts'
import { readTokens } from '../tokens-on-disk.ts'

/** Time between two looks at the file. */
const LOOK_EVERY_MS = 1_000

/** Options of `watchTokens`. */
export interface TokensWatchOptions {
  readonly file: string
  readonly clock: Clock
  /** These tokens are accepted now. */
  readonly onChange: (records: readonly TokenRecord[]) => void
  /** The file cannot be read: the tokens of before stay accepted. */
  readonly onError: (error: unknown) => void
}

/**
 * Watches a tokens file, so that a revoked token is refused about a second later, without a restart. The
 * first look reports the tokens, too: they may have changed while the port was being opened. Looks at
 * the time of the last change, because notifications of mounted files are not reliable.
 */
export function watchTokens({ file, clock, onChange, onError }: TokensWatchOptions): Cancel {
  let isCanceled = false
  let cancelTimer: Cancel = () => {}
  let seen: string | undefined
  const look = async (): Promise<void> => {
    const stamp = await stampOf(file)
    if (isCanceled) return
    if (stamp !== seen) report()
    seen = stamp
    cancelTimer = clock.after(LOOK_EVERY_MS, () => void look())
  }
  const report = (): void => {
    try {
      onChange(readTokens(file))
    } catch (error) {
      onError(error)
    }
  }
  void look()
  return () => {
    isCanceled = true
    cancelTimer()
  }
}

/** Changes with every change of the file. */
async function stampOf(file: string): Promise<string> {
  try {
    const status = await nodeFileSystem.stat(file)
    return status === undefined ? 'missing' : `${status.modifiedMs} ${status.size}`
  } catch {
    return 'unreadable'
  }
}
