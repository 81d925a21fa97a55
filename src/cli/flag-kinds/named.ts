import { MAX_FEATURE } from '../../core/feature.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { nearestOf } from '../../core/text/nearest-word.ts'
import { isModelName } from '../../inference/repository/name.ts'
import { type FlagKind, mustBe } from './flag-kind.ts'
import { wholeNumber } from './numbers.ts'

const numbers = wholeNumber({ min: 1, max: HIGHEST_VERSION }, 'VERSION')
const VERSION_WORDS = ['live', 'latest'] as const
const VERSION_TAKES = `a number from 1 to ${HIGHEST_VERSION}, an id or its first 6 characters or more, a processing name, live or latest`

/** A version of a model in the registry, as `findVersion` reads it. */
export const versionNamed: FlagKind = {
  sort: 'text',
  shown: 'VERSION',
  takes: VERSION_TAKES,
  problem(text) {
    const isWord = VERSION_WORDS.some((word) => word === text)
    // A word of digits alone is a number; ids and processing names have letters.
    if (isWord || /^(?=.*[a-z])[\w.-]{6,}$/i.test(text)) return undefined
    if (!Number.isNaN(decimalNumber(text))) {
      return numbers.problem(text)?.replace(numbers.takes, VERSION_TAKES)
    }
    const nearest = nearestOf(text, VERSION_WORDS)
    return mustBe(VERSION_TAKES, text, nearest === undefined ? '' : `; did you mean "${nearest}"?`)
  },
}

const MODEL_NAME =
  'letters, digits, ".", "-" and "_", a letter or a digit first, at most 100 characters'

/** The name of a model of a repository; `what` is `a model` or `an alias`. */
export function repositoryName(shown = 'NAME', what = 'a model'): FlagKind {
  const takes = `the name of ${what}: ${MODEL_NAME}`
  return { sort: 'text', shown, takes, problem: (text) => namesProblem(takes, text, [text]) }
}

/** A model of a repository, or one of its aliases: `digits`, `digits@stable`. */
export const modelReference: FlagKind = {
  sort: 'text',
  shown: 'MODEL',
  takes: `the name of a model, or NAME@ALIAS: ${MODEL_NAME}`,
  problem(text) {
    const at = text.indexOf('@')
    return namesProblem(this.takes, text, at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)])
  },
}

function namesProblem(takes: string, text: string, names: readonly string[]): string | undefined {
  if (names.every(isModelName)) return undefined
  const near = names.map((one) => one.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[._-]+/, ''))
  const hint = near.every(isModelName) ? `; the nearest is ${near.join('@')}` : ''
  return mustBe(takes, text, hint)
}

/** A feature with its value, as in an example: `3:1`; or names of features, which the model hashes: `DE`, `|ad price:2`. */
export const feature: FlagKind = {
  sort: 'text',
  shown: 'FEATURE:VALUE',
  takes:
    'FEATURE:VALUE, such as 3:1, or names of features such as "|user DE" where the model hashes names',
  problem(text) {
    const [, id, value] = /^(\d+):(.+)$/.exec(text) ?? []
    const words = text.split(/[ \t|]+/).filter((word) => word !== '')
    const isLine = words.length > 0 && !/[\r\n]/.test(text)
    if (isLine && words.every(isNamedFeature)) return undefined
    const isValue = Number.isFinite(Math.fround(decimalNumber(value ?? '')))
    if (id !== undefined && Number(id) <= MAX_FEATURE && isValue) return undefined
    const nearest = /^\d+$/.test(text) ? `; the nearest is ${text}:1` : ''
    return mustBe(this.takes, text, nearest)
  },
}

/** Whether a word is the name of a feature or of a namespace, with a number behind a colon or without one. */
function isNamedFeature(word: string): boolean {
  const [name = '', value = '1', more] = word.split(':')
  return /\p{L}/u.test(name) && more === undefined && !Number.isNaN(decimalNumber(value))
}

/** The id of a token. No message shows the text: it may be a whole token. */
export const tokenId: FlagKind = {
  sort: 'secret',
  shown: 'ID',
  takes: 'the id of a token: its second part, 12 digits of 0-9a-f',
  problem(text) {
    if (/^[0-9a-f]{12}$/.test(text)) return undefined
    const hint = text.startsWith('weir_') ? ', not a whole token' : ''
    return `must be ${this.takes}${hint}; "weir token list" shows the ids`
  },
}
