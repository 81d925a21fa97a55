/** What the package exports of patterns over keyed streams. */

export { Pattern } from './dataflow/cep/pattern.ts'
export {
  CEP,
  type ComplexEventProcessing,
  type PatternOptions,
  PatternStream,
} from './dataflow/cep/pattern-stream.ts'
export type {
  MatchContext,
  PartOfMatch,
  PatternProcessFunction,
} from './operators/cep/function.ts'
