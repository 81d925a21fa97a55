import { describe, expect, it } from 'vitest'
import { PAUSES, type Pause, TIMERS } from './pauses.ts'
import { filesOf, textOf } from './source-tree.ts'

/** The files that make the waits of all others, and this one, which has examples. */
const WITHOUT = ['test/run/pause.ts', 'test/run/until.ts', 'test/architecture/pauses.test.ts']
const LIST = 'test/architecture/pauses.ts'
const ADVICE = 'wait for a condition with until() of test/run/until.ts'

/** Ways to let time pass, as they stand in a file. */
const TIMER =
  /(?<![.\w])setTimeout\(|\bsleep\(systemClock\b|\bAtomics\.wait\(|\.waitForTimeout\(|\bvi\.wait(?:For|Until)\(|\bsleep \d/
const PAUSE_IMPORT = /import ([^;'"]*?) from ['"][./]*(?:run)?\/pause\.ts['"]/
const TIMERS_IMPORT = /import ([^;'"]*?) from ['"](?:node:)?timers(?:\/promises)?['"]/g

/** Whether a text lets time pass by itself, or hides that it calls `pause`. A turn of the event loop takes no time. */
function usesTimers(text: string): boolean {
  const imports = [...text.matchAll(TIMERS_IMPORT)]
  const isTimer = imports.some(([, names]) => !/^\{ setImmediate(?: as \w+)? \}$/.test(names ?? ''))
  const pause = PAUSE_IMPORT.exec(text)?.[1] ?? '{ pause }'
  return isTimer || pause !== '{ pause }' || TIMER.test(text)
}

/** The text between a parenthesis and the one that closes it. */
function argumentsAt(text: string, open: number): string {
  let depth = 0
  let quote = ''
  for (let at = open; at < text.length; at++) {
    const letter = text[at]!
    if (letter === '\\') at += 1
    else if (quote !== '') quote = letter === quote ? '' : quote
    else if (`'"\``.includes(letter)) quote = letter
    else if (letter === '(') depth += 1
    else if (letter === ')' && --depth === 0) return text.slice(open + 1, at)
  }
  return text.slice(open + 1)
}

/** The calls of `pause` in a text; a reason that is no plain text is empty. */
function pausesIn(text: string): readonly Pause[] {
  if (!PAUSE_IMPORT.test(text)) return []
  return [...text.matchAll(/(?<![.\w])pause\(/g)].map(({ 0: call, index }) => {
    const given = argumentsAt(text, index + call.length - 1).replaceAll(/\s+/g, ' ')
    const parts = /^ ?(?<ms>.*), (?<quote>['"])(?<reason>.*)\k<quote>,? ?$/.exec(given)?.groups
    return [parts?.['ms'] ?? given, parts?.['reason'] ?? '']
  })
}

const lineOf = (file: string, [ms, reason]: Pause): string => `${file}: pause(${ms}, '${reason}')`

/** Each element as often as it is in `some` more than in `others`. */
function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others]
  return some.filter((one) => {
    const at = left.indexOf(one)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

describe('tests', () => {
  // The campaigns of test/verify run for a time that they are given.
  const files = filesOf('test').filter(
    (file) => !WITHOUT.includes(file) && !file.startsWith('test/verify/'),
  )

  it('wait for conditions: what lets time pass by a timer is on a list', () => {
    const found = files.filter((file) => usesTimers(textOf(file)))
    const listed = Object.keys(TIMERS)
    expect([
      ...without(found, listed).map(
        (file) => `${file} waits by a timer: ${ADVICE}, or call pause()`,
      ),
      ...without(listed, found).map((file) => `${file} uses no timer: take it off ${LIST}`),
    ]).toEqual([])
  })

  it('pause only where the list says so, each with a reason', () => {
    const found = files.flatMap((file) => pausesIn(textOf(file)).map((one) => lineOf(file, one)))
    const listed = Object.entries(PAUSES).flatMap(([file, pauses]) =>
      pauses.map((one) => lineOf(file, one)),
    )
    expect([
      ...without(found, listed).map((line) =>
        line.endsWith(`'')`)
          ? `${line}: give the reason as a plain text`
          : `${line}: ${ADVICE}, or add it to ${LIST}`,
      ),
      ...without(listed, found).map((line) => `${line} is gone: take it off ${LIST}`),
    ]).toEqual([])
  })
})

describe('the check of waits', () => {
  it.each([
    'await new Promise((done) => setTimeout(done, 5))',
    "import { setTimeout } from 'node:timers/promises'",
    "import { setTimeout as sleep } from 'node:timers/promises'",
    "import { setImmediate, setTimeout as sleep } from 'timers/promises'",
    "import { scheduler } from 'node:timers/promises'",
    "import * as timers from 'node:timers/promises'",
    'await sleep(systemClock, 20)',
    'Atomics.wait(word, 0, 0, 100)',
    'await page.waitForTimeout(100)',
    // It gives up after a second.
    'await vi.waitFor(() => expect(count).toBe(1))',
    "execSync('sleep 1')",
    "import { pause as rest } from '../run/pause.ts'",
  ])('finds %s', (text) => expect(usesTimers(text)).toBe(true))

  it.each([
    "import { setImmediate as turn } from 'node:timers/promises'",
    'socket.setTimeout(300)',
    "vi.useFakeTimers({ toFake: ['setTimeout'] })",
    'await sleep(clock, 20)',
  ])('lets %s be', (text) => expect(usesTimers(text)).toBe(false))

  it('reads the calls of pause', () => {
    const text = `
      import { pause } from '../run/pause.ts'
      await pause(50 + random.below(9), 'a kill')
      await pause(
        Math.max(1, left),
        "it isn't there",
      )
      await pause(LIMIT_MS, reason)
      await world.pause(process)`
    expect(pausesIn(text)).toEqual([
      ['50 + random.below(9)', 'a kill'],
      ['Math.max(1, left)', "it isn't there"],
      ['LIMIT_MS, reason', ''],
    ])
  })
})
