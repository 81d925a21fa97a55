import {
  aFunction,
  either,
  flag,
  numberIn,
  objectWith,
  optional,
  recordOf,
  text,
} from '../options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../options/shape.ts'
import { endWith } from './call-span.ts'
import { type Environment, shareTracingEnvironment } from './environment.ts'
import { type Attributes, SPAN_KIND, type Span } from './span.ts'
import { startTracing, stopTracing, tracer } from './tracer.ts'

/**
 * Exports spans of this thread and of the threads that it starts from now on, so call it before the program
 * starts a job or connects a client. `variables` are those of OpenTelemetry: the environment of the process, or
 * `{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }`; without an endpoint nothing is traced. A wrong
 * value is a warning, and nothing is traced. The disposal sends the spans that have ended, and traces no more.
 */
export function traceProgram(
  variables: Environment,
  warn?: (message: string) => void,
): AsyncDisposable {
  checkArgument(
    'traceProgram',
    'variables',
    objectWith('variables of an environment, such as those of the process'),
    variables,
  )
  checkArgument('traceProgram', 'warn', optional(aFunction()), warn)
  shareTracingEnvironment(variables)
  startTracing(variables, warn)
  return { [Symbol.asyncDispose]: stopTracing }
}

/** What a program says of its span. */
export interface ProgramSpanOptions {
  /** `traceparent` of the request that the work answers; used where no span is around the work. */
  readonly traceparent?: string | undefined
  readonly attributes?: Attributes
}

const ATTRIBUTE = either(text, either(numberIn({ orInfinity: true }), flag))
const PROGRAM_SPAN: OptionShape<ProgramSpanOptions> = {
  traceparent: text,
  attributes: recordOf(ATTRIBUTE),
}

/**
 * Runs `work` in a span: below the span around the call, or below `traceparent`, or at the top of a new trace.
 * The calls to Weir that the work makes are spans below it. Without traces, and for a trace that is not
 * sampled, it only runs the work.
 */
export async function withSpan<T>(
  name: string,
  work: () => Promise<T>,
  options: ProgramSpanOptions = {},
): Promise<T> {
  checkArgument('withSpan', 'name', text, name)
  checkArgument('withSpan', 'work', aFunction(), work)
  checkOptions('withSpan', PROGRAM_SPAN, options)
  const span = spanOf(name, options)
  if (span === undefined) return await work()
  return await endWith(
    span,
    tracer!.run(span, async () => await work()),
  )
}

function spanOf(
  name: string,
  { traceparent, attributes = {} }: ProgramSpanOptions,
): Span | undefined {
  const around = tracer?.current
  if (around !== undefined) return tracer!.child(around, name, SPAN_KIND.internal, attributes)
  return tracer?.request(name, traceparent, attributes)
}
