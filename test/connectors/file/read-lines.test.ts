import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readLines } from '../../../src/connectors/file/read-lines.ts'
import { temporaryFolder } from '../log/fixture.ts'

async function linesOf(content: string | Uint8Array): Promise<readonly string[]> {
  const file = join(temporaryFolder(), 'lines')
  writeFileSync(file, content)
  const lines: string[] = []
  for await (const some of readLines(file)) lines.push(...some)
  return lines
}

describe('readLines', () => {
  it('reads lines that end in LF, in CRLF, or with the file', async () => {
    expect(await linesOf('a\r\nö\nc')).toEqual(['a', 'ö', 'c'])
  })

  it('refuses a line that is not UTF-8, with its number', async () => {
    const padding = 'é\n'.repeat(200_000)
    const latin1 = Buffer.concat([Buffer.from(padding), Buffer.from('a\xe9\n', 'latin1')])
    await expect(linesOf(latin1)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      details: { line: 200_001 },
    })
  })

  it('refuses a line that does not end, before it is in memory', async () => {
    const endless = Buffer.alloc(18 * 1024 * 1024, 'x')
    endless.write('a\n')
    await expect(linesOf(endless)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      message: expect.stringMatching(/^line 2 of .* does not end within 16 MiB/),
    })
  })
})
