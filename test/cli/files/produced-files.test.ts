import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ProducedFiles } from '../../../src/cli/files/produced-files.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-produced-'))
  path = join(folder, 'list.json')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The decisions on one file, whose sizes the looks find. */
function decisions(files: ProducedFiles, sizes: readonly number[], place = 'part-0') {
  return sizes.map((bytes) => {
    const decision = files.look({ place, bytes })
    if (decision.kind === 'append') files.add({ place, bytes })
    return decision.kind
  })
}

describe('a file of a watched folder', () => {
  it('that grows is appended when it has the same size at two looks', () => {
    const files = ProducedFiles.open(path)
    expect(decisions(files, [0, 0, 6, 12, 12, 12])).toEqual([
      ...['wait', 'wait', 'wait', 'wait', 'append', 'done'],
    ])
  })

  it('is another one than a file beside it', () => {
    const files = ProducedFiles.open(path)
    expect(decisions(files, [6], 'part-0')).toEqual(['wait'])
    expect(decisions(files, [6], 'part-1')).toEqual(['wait'])
  })

  it('that changes after it was appended is reported once for each size, also after a restart', () => {
    expect(decisions(ProducedFiles.open(path), [6, 6, 9, 9, 12])).toEqual([
      ...['wait', 'append', 'changed', 'done', 'changed'],
    ])
    const again = ProducedFiles.open(path)
    expect(again.look({ place: 'part-0', bytes: 12 })).toEqual({ kind: 'changed', bytesThen: 6 })
    expect(decisions(again, [12, 6])).toEqual(['done', 'done'])
  })

  it('is known by its place without the settings of a URL', () => {
    const url = 'hdfs://namenode:9870/fresh/part-0'
    const files = ProducedFiles.open(path)
    files.add({ place: `${url}?user=ada`, bytes: 6 })
    expect(files.look({ place: `${url}?user=bob`, bytes: 6 }).kind).toBe('done')
  })
})

describe('the list of files', () => {
  it('has these bytes, and keeps the places that an earlier build noted without a size', () => {
    writeFileSync(path, '[\n "old"\n]\n')
    const files = ProducedFiles.open(path)
    expect(files.look({ place: 'old', bytes: 7 }).kind).toBe('done')
    files.add({ place: 'new', bytes: 6 })
    expect(readFileSync(path, 'utf8')).toBe(
      '[\n "old",\n {\n  "file": "new",\n  "bytes": 6\n }\n]\n',
    )
  })

  it.each(['["a', '{}', '[1]', '[{"file":"a"}]', '[{"file":"a","bytes":"6"}]', '[null]'])(
    'is refused if it is %j',
    (text) => {
      writeFileSync(path, text)
      expect(() => ProducedFiles.open(path)).toThrow(
        expect.objectContaining({ code: 'MALFORMED_DATA' }),
      )
    },
  )
})
