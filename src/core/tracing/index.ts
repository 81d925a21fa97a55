/** `@weirjs/weir/tracing`: traces of programs that embed Weir, or that ask it with a client. */

import '../lifetime/require-node.ts'

export type { Environment } from './environment.ts'
export { type ProgramSpanOptions, traceProgram, withSpan } from './program.ts'
export type { Attributes, AttributeValue } from './span.ts'
