import type { PairPredictions } from '../../wire/encoded-pairs.ts'
import { ITEM_FLAG } from '../../wire/frame.ts'
import { problemOf } from '../http/problem.ts'
import { SCORE_TEXT_BYTES, scoreNumber, writeScore } from './score-number.ts'

const HEAD = Buffer.from('{"predictions":[{"score":')
const FOLLOWING = ',{"score":'
const END = Buffer.from(']}')
const KINDS = 4
/** Longest text between two scores. */
const TAIL_BYTES = 80

let scratch: Buffer = Buffer.alloc(0)
/** The last tails: most bodies are of the version of the one before. */
let known: { readonly version: number; readonly tails: readonly Buffer[] } | undefined

/**
 * The JSON of the predictions of a batch, valid until the next call. A pair has a score or an error.
 */
export function predictionsBody(predictions: PairPredictions): Uint8Array {
  return predictions.errors.size === 0
    ? bodyOfScores(predictions)
    : Buffer.from(JSON.stringify({ predictions: entriesOf(predictions) }))
}

function bodyOfScores(predictions: PairPredictions): Uint8Array {
  const body = scratchOf(mostBytesOf(predictions))
  return body.subarray(0, writeScores(body, 0, predictions))
}

/** Most bytes that `writeScores` writes. */
export function mostBytesOf({ scores }: PairPredictions): number {
  return HEAD.length + scores.length * (SCORE_TEXT_BYTES + TAIL_BYTES)
}

/**
 * Writes the JSON of predictions without errors at `from`; returns where it ends. It makes no string and no
 * object for a pair.
 */
export function writeScores(
  body: Uint8Array,
  from: number,
  { scores, flags, versions }: PairPredictions,
): number {
  let version = versions[0]!
  let tails = tailsOf(version)
  body.set(HEAD, from)
  let at = from + HEAD.length
  for (let i = 0; i < scores.length; i++) {
    if (versions[i] !== version) {
      version = versions[i]!
      tails = tailsOf(version)
    }
    at = writeScore(body, at, scores[i]!)
    const tail = tails[flags[i]! & (KINDS - 1)]!
    body.set(tail, at)
    at += tail.length
  }
  at -= FOLLOWING.length
  body.set(END, at)
  return at + END.length
}

/** Memory for a body before its length is known. */
function scratchOf(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes)
  return scratch
}

/** What follows a score of a version, by its flags, up to the next score. */
function tailsOf(version: number): readonly Buffer[] {
  if (known?.version !== version) known = { version, tails: makeTails(version) }
  return known.tails
}

function makeTails(version: number): readonly Buffer[] {
  return Array.from({ length: KINDS }, (_, flags) => {
    const userCold = (flags & ITEM_FLAG.leftCold) !== 0
    const itemCold = (flags & ITEM_FLAG.rightCold) !== 0
    return Buffer.from(
      `,"userCold":${userCold},"itemCold":${itemCold},"modelVersion":${version}}${FOLLOWING}`,
    )
  })
}

function entriesOf({ scores, flags, versions, errors }: PairPredictions): object[] {
  return Array.from(scores, (score, i) => {
    const error = errors.get(i)
    if (error !== undefined) return { error: problemOf(error) }
    return {
      score: scoreNumber(score),
      userCold: (flags[i]! & ITEM_FLAG.leftCold) !== 0,
      itemCold: (flags[i]! & ITEM_FLAG.rightCold) !== 0,
      modelVersion: versions[i]!,
    }
  })
}
