import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkPositions } from '../../src/cli/command/check-flags.ts'
import type { Command } from '../../src/cli/command/command.ts'
import { parseCommandLine } from '../../src/cli/command/parse.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { filesOf } from '../architecture/source-tree.ts'

const ROOT = resolve(import.meta.dirname, '../..')

const PAGES = ['README.md', 'examples/README.md', 'datasets/README.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.startsWith('decisions'))
    .map((file) => join('docs', file)),
)

/** The command lines of `weir` in the code blocks of a page, without what surrounds them in a shell. */
function commandLines(page: string): readonly string[] {
  const lines = shellBlocks(page)
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
  return lines.flatMap((line) => {
    const found =
      /^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npm run (?:-s )?)?(?:npx )?weir (?:-- )?(.*)$/.exec(line)
    return found === null ? [] : [withoutShell(found[1]!)]
  })
}

/** The lines inside code blocks without a language, or of a shell. */
function shellBlocks(page: string): string {
  let language: string | undefined
  const inside = page.split('\n').filter((line) => {
    const fence = /^ *```(\w*)/.exec(line)
    if (fence === null) return language === '' || language === 'sh'
    language = language === undefined ? fence[1] : undefined
    return false
  })
  return inside.join('\n')
}

/** The words of a command before a comment, a pipe, a redirection, the next command or `&`. */
function withoutShell(line: string): string {
  return line.split(/\s+#|\s\|\s|\s>|\s<|;|\s&/)[0]!.trim()
}

/** Words as a shell splits them; quotes keep blanks. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replaceAll(/['"]/g, ''),
  )
}

function commandOf(words: readonly string[]): { command: Command; rest: readonly string[] } {
  for (const count of [3, 2, 1]) {
    const command = COMMANDS.find(({ name }) => name === words.slice(0, count).join(' '))
    if (command !== undefined) return { command, rest: words.slice(count) }
  }
  throw new Error(`no command of weir: ${words.join(' ')}`)
}

/** Commands that are no verbs, and lines that show a usage instead of a command. */
const OTHERS = /^(--help|--version|help|COMMAND|\.\.\.|\[)/

describe('the commands in code blocks', () => {
  const all = PAGES.flatMap((path) =>
    commandLines(readFileSync(join(ROOT, path), 'utf8')).map((line) => ({ path, line })),
  ).filter(({ line }) => line !== '' && !OTHERS.test(line))

  it('are found in the pages', () => {
    expect(all.length).toBeGreaterThan(100)
  })

  it('have flags and arguments that exist', () => {
    const wrong = all.flatMap(({ path, line }) => {
      try {
        const { command, rest } = commandOf(wordsOf(line))
        checkPositions(command, parseCommandLine(command, rest))
        return []
      } catch (error) {
        return [`${path}: weir ${line}: ${(error as Error).message}`]
      }
    })
    expect(wrong).toEqual([])
  })
})

it('pages and messages install ONNX Runtime without its script, which needs a network', () => {
  const places = [...PAGES, ...filesOf('src')].map((file) => readFileSync(join(ROOT, file), 'utf8'))
  const found = places.flatMap((text) => [...text.matchAll(/(\S+) npm install onnxruntime-node/g)])
  expect(found.length).toBeGreaterThan(5)
  for (const [, before] of found) expect(before).toMatch(/^`?ONNXRUNTIME_NODE_INSTALL=skip$/)
})
