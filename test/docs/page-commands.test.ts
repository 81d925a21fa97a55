import { describe, expect, it } from 'vitest'
import { missingLines } from '../system/docs/output-shape.ts'
import { commandsOf, reasonsOf } from '../system/docs/page-commands.ts'

const block = (...lines: readonly string[]): string => ['```', ...lines, '```', ''].join('\n')

describe('the commands of a guide page', () => {
  it('are the lines of its sessions with what they print, and its scripts as a whole', () => {
    const script = ['```sh', 'weir cluster start', 'weir list', '```', ''].join('\n')
    const session = block('$ weir list \\', '    --all', 'a job', '...', '$ weir info x')
    expect(commandsOf(`text\n${session}\n${script}`)).toEqual([
      { command: 'weir list \\\n    --all', isScript: false, shown: ['a job'] },
      { command: 'weir info x', isScript: false, shown: [] },
      { command: 'weir cluster start\nweir list', isScript: true, shown: [] },
    ])
  })

  it('are also those of blocks in a list, and not those of blocks that say why not', () => {
    const indented = ['   ```sh', '   weir list', '     --all', '   ```', ''].join('\n')
    const skipped = `   <!-- not run: a reason -->\n${indented}`
    expect(commandsOf(`1. text\n\n${indented}\n2. text\n\n${skipped}`)).toEqual([
      { command: 'weir list\n  --all', isScript: true, shown: [] },
    ])
    expect(reasonsOf(skipped)).toEqual(['a reason'])
  })

  it('leave out lines that vary, and have the code of a failure', () => {
    const page = `<!-- varies: ^took -->\n${block('$ weir x', 'took long', 'weir: UNKNOWN_KEY: no')}`
    expect(commandsOf(page)).toMatchObject([
      { code: 'UNKNOWN_KEY', shown: ['weir: UNKNOWN_KEY: no'] },
    ])
  })

  it('must be in a session or a script', () => {
    expect(() => commandsOf(block('weir list'))).toThrow('not a session: weir list')
    expect(commandsOf(block('some output'))).toEqual([])
  })
})

describe('the output that a page shows', () => {
  it('is found whatever its numbers are', () => {
    const printed = 'noise\n1,024 rows in 0.5 s, id a3-77\n'
    expect(missingLines(['16 rows   in 12.25 s, id b4'], printed)).toEqual([])
  })

  it('is missed where a word differs', () => {
    expect(missingLines(['16 rows written'], '16 rows read')).toEqual(['16 rows written'])
  })
})
