import { nearestOf } from '../../core/text/nearest-word.ts'
import { type FlagKind, kindOf, mustBe } from './flag-kind.ts'

/** One word of a closed set. */
export function word(words: readonly string[], shown = 'NAME'): FlagKind {
  const takes = `one of ${words.join(', ')}`
  return {
    sort: 'word',
    shown,
    takes,
    range: takes,
    words,
    problem(text) {
      if (words.includes(text)) return undefined
      return mustBe(takes, text, didYouMean(nearestOf(text, words)))
    },
  }
}

/** A value of a kind, or one of a few words. */
export function orWord(kind: FlagKind, ...words: readonly string[]): FlagKind {
  const takes = `${kind.takes}, or ${words.join(' or ')}`
  return {
    ...kind,
    takes,
    range: takes,
    words,
    problem(text) {
      if (words.includes(text) || kind.problem(text) === undefined) return undefined
      const letters = /[a-z]/i.test(text) ? nearestOf(text, words) : undefined
      return mustBe(takes, text, didYouMean(letters))
    },
  }
}

function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}

/** The name of something: a text without control characters that is not empty. */
export function name(shown = 'NAME'): FlagKind {
  const takes = 'a text that is not empty, without control characters'
  return kindOf({ sort: 'text', shown, takes }, (text) => /^[^\p{Cc}]*\S[^\p{Cc}]*$/u.test(text))
}

/** A text that is not empty, of any characters. */
export function someText(shown = 'TEXT'): FlagKind {
  return kindOf({ sort: 'text', shown, takes: 'a text that is not empty' }, (text) => text !== '')
}

/** Any text, the empty one too: `--body ''` is a body. */
export function anyText(shown = 'TEXT'): FlagKind {
  return kindOf({ sort: 'text', shown, takes: 'a text' }, () => true)
}

/** Longest name of a topic, as Kafka has it. */
const LONGEST_TOPIC = 249

/** The name of a topic. */
export const topicName: FlagKind = topicNamed('NAME')

/** The name of a topic, with another name in `--help`. */
export function topicNamed(shown: string): FlagKind {
  const takes = `the name of a topic: at most ${LONGEST_TOPIC} letters, digits, ".", "_" and "-"`
  return {
    sort: 'text',
    shown,
    takes,
    names: 'topics',
    problem(text) {
      const isName = /^[A-Za-z0-9._-]+$/.test(text) && text.length <= LONGEST_TOPIC
      if (isName && text !== '.' && text !== '..') return undefined
      const near = text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, LONGEST_TOPIC)
      const hint = /[A-Za-z0-9]/.test(near) ? `; the nearest is ${near}` : ''
      return mustBe(takes, text, hint)
    },
  }
}

/** A secret; no message shows it. */
export const secret: FlagKind = {
  sort: 'secret',
  shown: 'SECRET',
  takes: 'a text that is not empty',
  problem: (text) => (text === '' ? 'is empty' : undefined),
}
