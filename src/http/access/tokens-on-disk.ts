import { asWeirError, isWeirError } from '../../core/errors.ts'
import { readFileSync, replaceFileSync } from '../../files/durable-files.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { TokenRecord } from './token.ts'
import { formatTokens, parseTokens } from './tokens-file.ts'
import { withFileLock } from './tokens-lock.ts'

/** Reads a tokens file. Throws FILE_NOT_FOUND, PERMISSION_DENIED, MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readTokens(file: string): readonly TokenRecord[] {
  const bytes = withContext(() => readFileSync(nodeFileSystem, file))
  return parseTokens(new TextDecoder().decode(bytes), file)
}

/** As `readTokens`, but a missing file has no tokens. */
export function readTokensIfAny(file: string): readonly TokenRecord[] {
  try {
    return readTokens(file)
  } catch (error) {
    if (isWeirError(error, 'FILE_NOT_FOUND')) return []
    throw error
  }
}

/**
 * Replaces a tokens file: a reader sees the old one or the new one, also after a crash. Only the user
 * of this process may read it. Throws PERMISSION_DENIED, FILE_NOT_FOUND for a missing folder, DISK_FULL.
 */
export function writeTokens(file: string, records: readonly TokenRecord[]): void {
  const bytes = new TextEncoder().encode(formatTokens(records))
  withContext(() => replaceFileSync(nodeFileSystem, file, bytes))
}

/**
 * Changes a tokens file; a missing one has no tokens. Changes of several processes come one after the other, so
 * that none is lost. Throws as `readTokens` and `writeTokens`, what `change` throws, and DEADLINE_EXCEEDED.
 */
export async function changeTokens(
  file: string,
  change: (records: readonly TokenRecord[]) => readonly TokenRecord[],
): Promise<readonly TokenRecord[]> {
  try {
    return await withFileLock(file, () => {
      const records = change(readTokensIfAny(file))
      writeTokens(file, records)
      return records
    })
  } catch (error) {
    throw asWeirError(error, 'INVALID_ARGUMENT', 'the tokens file')
  }
}

function withContext<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw asWeirError(error, 'INVALID_ARGUMENT', 'the tokens file')
  }
}
