import * as weir from '../../../../src/index.ts'
import { type ArgumentsCalls, methodsOf } from './call.ts'

const isAny = (): boolean => true
const pattern = () => weir.Pattern.of<number>().begin('a').oneOrMore()
const once = () => weir.Pattern.of<number>().begin('a')
const found = () =>
  weir.CEP.pattern(
    new weir.StreamExecutionEnvironment().fromElements([1]).keyBy((n) => n),
    once(),
  )

/** Calls of patterns. */
export const PATTERN_CALLS: ArgumentsCalls = {
  ...methodsOf(
    'pattern',
    pattern,
    ['where', isAny],
    ['or', isAny],
    ['until', isAny],
    ['within', 1],
    ['notNext', 'b'],
    ['notFollowedBy', 'b'],
    ['skipToFirst', 'a'],
    ['skipToLast', 'a'],
  ),
  ...methodsOf('pattern', once, ['times', 1, 2], ['timesOrMore', 1]),
  ...methodsOf(
    'patternStream',
    found,
    ['select', () => 1],
    ['process', () => ({ processMatch() {} })],
    ['sideOutputLateData', new weir.OutputTag<number>('late')],
    ['sideOutputTimedOut', new weir.OutputTag('timed-out')],
  ),
}
