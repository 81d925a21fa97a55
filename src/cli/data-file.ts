import { isWeirError, WeirError } from '../core/errors.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
}

/**
 * What `read` makes of a file that a flag names; errors name the file. `what` says what the file
 * holds, `hint` what to give instead. Throws INVALID_ARGUMENT when it cannot be read.
 */
export async function readDataFile<T>(
  path: string,
  what: string,
  hint: string,
  read: (path: string) => Promise<T>,
): Promise<T> {
  try {
    return await read(path)
  } catch (error) {
    if (isWeirError(error)) {
      throw new WeirError(error.code, `${path}: ${error.message}`, {
        cause: error,
        details: error.details,
      })
    }
    const reason = REASONS[(error as NodeJS.ErrnoException).code ?? '']
    if (reason === undefined) throw error
    const message = `cannot read the ${what} file ${path}: ${reason}; give ${hint}`
    throw new WeirError('INVALID_ARGUMENT', message, { cause: error })
  }
}
