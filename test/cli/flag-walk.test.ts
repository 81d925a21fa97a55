import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  COMMON_OPTIONS,
  type Command,
  type OptionSpec,
  type PositionSpec,
} from '../../src/cli/command/command.ts'
import { usageOf } from '../../src/cli/command/help.ts'
import { parseCommandLine } from '../../src/cli/command/parse.ts'
import { environmentName, SETTABLE_FLAGS } from '../../src/cli/command/settings.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import type { FlagKind } from '../../src/cli/flag-kinds/flag-kind.ts'
import { runCommandLine } from '../../src/cli/run-command-line.ts'
import { nearestWord } from '../../src/core/text/nearest-word.ts'
import { wrongValuesOf } from './flag-kinds/wrong-values.ts'
import { recordedIo } from './recorded-io.ts'

/** A flag of a verb: the walk goes over all of them, as the verbs declare them. */
interface WalkedFlag {
  readonly command: Command
  readonly name: string
  readonly spec: OptionSpec
}

const FLAGS: readonly WalkedFlag[] = COMMANDS.flatMap((command) =>
  Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(([name, spec]) => ({
    command,
    name,
    spec,
  })),
)
const TYPED = FLAGS.filter(({ name, spec }) => spec.isSecret !== true && name !== 'help')

let folder: string
let before: string
/** Verbs whose own code ran. */
const hasRun = new Set<string>()

beforeAll(() => {
  before = process.cwd()
  folder = mkdtempSync(join(tmpdir(), 'weir-walk-'))
  process.chdir(folder)
  for (const command of COMMANDS) {
    vi.spyOn(command, 'run').mockImplementation(() => {
      hasRun.add(command.name)
      return Promise.resolve(0)
    })
  }
})

afterAll(() => {
  vi.restoreAllMocks()
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

interface Refusal {
  readonly code: number
  readonly err: string
}

/** Runs a verb with flags that must be refused; its own code must not run. */
async function refused(
  { command }: Pick<WalkedFlag, 'command'>,
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Refusal> {
  const { io, err, out } = recordedIo({ env })
  const code = await runCommandLine([...command.name.split(' '), ...words], io)
  const shown = `weir ${command.name} ${words.join(' ')}`
  expect({ shown, out, hasRun: hasRun.delete(command.name) }).toEqual({
    shown,
    out: [],
    hasRun: false,
  })
  return { code, err: err.join('\n') }
}

async function expectRefused(flag: WalkedFlag, words: readonly string[], says: string) {
  const { code, err } = await refused(flag, words)
  const shown = `weir ${flag.command.name} ${words.join(' ')}`
  expect({ shown, code }).toEqual({ shown, code: 2 })
  expect(err, shown).toContain(says)
  expect(err, shown).not.toContain('\n')
}

describe('every flag of every verb', () => {
  it('is in the walk, with the kind of its values', () => {
    expect(FLAGS.length).toBeGreaterThan(900)
    for (const { command, name, spec } of FLAGS) {
      const where = `weir ${command.name} --${name}`
      if (spec.type === 'boolean') continue
      expect(spec.value?.takes, `${where} has no kind`).toMatch(/\w/)
      expect(
        wrongValuesOf(spec.value).length + Number(spec.value.takes === 'a text'),
        where,
      ).not.toBe(0)
      if (spec.default === undefined || spec.default === '') continue
      expect(spec.value.problem(spec.default), `${where}: the default is refused`).toBeUndefined()
    }
  })

  it('needs and excludes flags of the same verb', () => {
    for (const { command, name, spec } of FLAGS) {
      const others = [...(spec.needs ?? []).map(({ flag }) => flag), ...(spec.excludes ?? [])]
      for (const other of others) {
        const known = Object.hasOwn(command.options, other)
        expect(known, `weir ${command.name} --${name} knows no --${other}`).toBe(true)
      }
      for (const { flag, words } of spec.needs ?? []) {
        const { words: known = words } = command.options[flag]?.value ?? {}
        expect(known, `weir ${command.name} --${name}`).toEqual(expect.arrayContaining([...words]))
      }
    }
  })

  it('is refused where its name is misspelt, with the nearest name', async () => {
    for (const flag of TYPED) {
      const names = Object.keys({ ...flag.command.options, ...COMMON_OPTIONS })
      const misspelt = `${flag.name.slice(0, -1)}${flag.name.at(-1) === 'q' ? 'z' : 'q'}`
      const nearest = nearestWord(misspelt, names)
      const meant = nearest === undefined ? '' : `; did you mean --${nearest}?`
      await expectRefused(flag, [`--${misspelt}`, 'x'], `unknown option --${misspelt}${meant}`)
    }
  })

  it('is refused with a value that its kind does not take', async () => {
    let walked = 0
    const kinds = new Set<string>()
    for (const flag of TYPED) {
      const { name, spec } = flag
      const { value: kind } = spec
      if (kind === undefined) {
        await expectRefused(flag, [`--${name}=yes`], `--${name} takes no value`)
        continue
      }
      const key = `${name} ${kind.takes}`
      const isKnown = kinds.has(key)
      kinds.add(key)
      // Of a flag that many verbs share, one verb has all the values, and the others have one.
      for (const text of wrongValuesOf(kind).slice(0, isKnown ? 1 : undefined)) {
        walked += 1
        await expectRefused(flag, [`--${name}=${text}`], `--${name} `)
      }
    }
    expect(walked).toBeGreaterThan(2000)
  })

  it('is refused without its value, and where it is given twice', async () => {
    for (const flag of TYPED) {
      const { name, spec } = flag
      if (spec.type === 'string') {
        await expectRefused(flag, [`--${name}`], `--${name} needs a value`)
        if (spec.multiple === true) continue
        await expectRefused(flag, [`--${name}=1`, `--${name}=2`], `--${name} was given twice: 1, 2`)
      } else await expectRefused(flag, [`--${name}`, `--${name}`], `--${name} was given twice`)
    }
  })

  it('is refused by its variable, where it can be set', async () => {
    const settable: readonly string[] = SETTABLE_FLAGS
    for (const flag of FLAGS.filter(({ name }) => settable.includes(name))) {
      const variable = environmentName(flag.name)
      const wrong =
        flag.spec.value === undefined ? ['yes'] : wrongValuesOf(flag.spec.value).filter(Boolean)
      for (const text of wrong) {
        const { code, err } = await refused(flag, [], { [variable]: text })
        expect({ variable, text, code }).toEqual({ variable, text, code: 2 })
        expect(err).toContain(`${variable} must be `)
      }
    }
  })

  it('does not show a secret that it refuses', () => {
    for (const { command, name } of FLAGS.filter(({ spec }) => spec.isSecret === true)) {
      const parse = () => parseCommandLine(command, [`--${name}=hunter2`])
      expect(parse).toThrow('would show the secret')
      expect(parse).not.toThrow('hunter2')
    }
  })
})

/** A positional argument of a verb, with flags beside which it has its kind. */
interface WalkedPosition {
  readonly command: Command
  readonly at: number
  readonly position: PositionSpec
  readonly kind: FlagKind
  readonly beside: readonly string[]
}

const POSITIONS: readonly WalkedPosition[] = COMMANDS.flatMap((command) =>
  (command.positions ?? []).flatMap((position, at) => [
    { command, at, position, kind: position.value, beside: [] },
    ...Object.entries(position.beside ?? {}).map(([flag, kind]) => {
      return { command, at, position, kind, beside: [`--${flag}`] }
    }),
  ]),
)

/** A text that a kind takes. */
function rightTextOf(kind: FlagKind): string {
  const texts = ['x', '7', '3:1', '0a1b2c3d4e5f', 'host:9092', 'job.ts', ...(kind.words ?? [])]
  if (kind.problemHere?.('x') !== undefined) texts.unshift(import.meta.filename)
  const right = texts.find((text) => kind.problem(text) === undefined)
  if (right === undefined) throw new Error(`no right text for ${kind.shown}, ${kind.takes}`)
  return right
}

/** The words of a verb with `text` at a position, and right texts before it and where they must follow. */
function wordsWith({ command, at, beside }: WalkedPosition, text: string | undefined): string[] {
  const texts = (command.positions ?? []).flatMap(({ value, isOptional }, i) => {
    if (i === at) return text === undefined ? [] : [text]
    return i < at || isOptional !== true ? [rightTextOf(value)] : []
  })
  const required = Object.entries(command.options).flatMap(([name, { isRequired, value }]) =>
    isRequired === true ? [`--${name}=${rightTextOf(value)}`] : [],
  )
  return [...required, ...beside, '--', ...texts]
}

describe('every positional argument of every verb', () => {
  it('is in the walk, with a kind, and only the last one is repeated or left out', () => {
    expect(POSITIONS.length).toBeGreaterThan(40)
    for (const { command, at, position, kind } of POSITIONS) {
      const where = `weir ${usageOf(command)}`
      expect(kind.takes, where).toMatch(/\w/)
      expect(wrongValuesOf(kind).length + Number(kind.takes === 'a text'), where).not.toBe(0)
      for (const flag of [...(position.orFlags ?? []), ...Object.keys(position.beside ?? {})]) {
        expect(Object.keys(command.options), where).toContain(flag)
      }
      const after = command.positions!.slice(at + 1)
      if (position.isRepeated === true) expect(after, where).toEqual([])
      const isEnd = position.isOptional !== true || after.every(({ isOptional }) => isOptional)
      expect(isEnd, where).toBe(true)
    }
  })

  it('is refused with a text that its kind does not take, the empty one too', async () => {
    let walked = 0
    for (const one of POSITIONS) {
      for (const text of wrongValuesOf(one.kind)) {
        walked += 1
        await expectPositionRefused(one, text)
      }
    }
    expect(walked).toBeGreaterThan(150)
  })

  it('is refused where it is missing, and where there is one too many', async () => {
    for (const one of POSITIONS.filter(({ beside }) => beside.length === 0)) {
      const { command, at, position } = one
      if (position.isOptional !== true && at === command.positions!.length - 1) {
        const { code, err } = await refused(one, wordsWith(one, undefined))
        expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('missing arg') })
        expect(err).toContain(`Usage: ${usageOf(command)}`)
      }
      const isLast = at === command.positions!.length - 1
      if (!isLast || position.isRepeated === true) continue
      const words = [...wordsWith(one, rightTextOf(one.kind)), 'one-too-many']
      const { code, err } = await refused(one, words)
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('"one-too-many"') })
    }
    for (const command of COMMANDS.filter(({ positions = [] }) => positions.length === 0)) {
      const { code, err } = await refused({ command }, ['one-too-many'])
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('"one-too-many"') })
    }
  })

  it('names the nearest one: a word, a number in the range, a name of a topic', async () => {
    const nearest: readonly (readonly [string, string])[] = [
      ['run als-servin', 'did you mean "als-serving"?'],
      ['completion bsh', 'did you mean "bash"?'],
      ['model show lif', 'did you mean "live"?'],
      ['model promote 0', 'the nearest is 1'],
      ['model alias digits stable 1.5', 'the nearest is 2'],
      ['topic create my/topic', 'the nearest is my-topic'],
      ['classify 3', 'the nearest is 3:1'],
    ]
    for (const [line, says] of nearest) {
      const { io, err } = recordedIo({})
      const code = await runCommandLine(line.split(' '), io)
      expect({ line, code }).toEqual({ line, code: 2 })
      expect(err.join(), line).toContain(says)
    }
  })

  it('does not show a token that was given for its id', async () => {
    const { io, err } = recordedIo({})
    expect(await runCommandLine(['token', 'revoke', 'weir_0a1b2c3d4e5f_hunter2'], io)).toBe(2)
    expect(err.join()).toContain('not a whole token')
    expect(err.join()).not.toContain('hunter2')
  })

  it('that names a file is refused where there is none', async () => {
    let walked = 0
    for (const one of POSITIONS) {
      if (one.kind.problemHere?.('no-such/file.txt') === undefined) continue
      walked += 1
      await expectPositionRefused(one, 'no-such/file.txt')
    }
    expect(walked).toBeGreaterThan(5)
  })
})

async function expectPositionRefused(one: WalkedPosition, text: string): Promise<void> {
  const words = wordsWith(one, text)
  const { code, err } = await refused(one, words)
  const shown = `weir ${one.command.name} ${words.join(' ')}`
  expect({ shown, code }).toEqual({ shown, code: 2 })
  expect(err, shown).toContain(`weir: ${one.kind.shown} `)
  expect(err, shown).not.toContain('\n')
}

it('nothing is left behind where a flag or an argument is refused: no file and no folder', () => {
  expect(readdirSync(folder)).toEqual([])
})
