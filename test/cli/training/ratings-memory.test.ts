import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { requireMemoryFor } from '../../../src/cli/training/ratings-memory.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

const GB = 2 ** 30
/** 20 bytes. */
const LINE = '1234\t5678\t3\t12345678\n'.slice(-20)

/** A file that seems to have 1 GiB, which a disk does not store. */
function largeFile(start: string | Uint8Array): string {
  const file = join(temporaryFolder(), 'ratings.data')
  writeFileSync(file, start)
  truncateSync(file, GB)
  return file
}

it('ratings that need more memory than the machine has are refused, with both figures and the flags that help', async () => {
  const file = largeFile(LINE.repeat(5000))
  // A line has 20 bytes, and a rating 60: the file needs 3 GB.
  await expect(requireMemoryFor(file, 2 * GB)).rejects.toThrow(
    /ratings\.data need about 3 GB of memory, and this machine has 2 GB: give --memory SIZE, .* --engine spark$/,
  )
  await requireMemoryFor(file, 3.1 * GB)
})

it('files of which the number of lines is not known are not refused', async () => {
  await requireMemoryFor(largeFile(gzipSync(LINE.repeat(5000))), GB)
  await requireMemoryFor(largeFile('PAR1'), GB)
})
