import { isWeirError } from '../errors.ts'
import { SPAN_KIND, type Span } from './span.ts'
import { tracer } from './tracer.ts'

/** The span of a call to a server; undefined unless the calling code is traced. */
export function callSpan(call: string, state: string): Span | undefined {
  const parent = tracer?.current
  if (parent === undefined) return undefined
  return tracer!.child(parent, `weir.client ${call}`, SPAN_KIND.client, { 'weir.state': state })
}

/** Ends a span with the answer of its work. */
export async function endWith<T>(span: Span, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    span.fail(isWeirError(error) ? error.code : 'ERROR')
    throw error
  } finally {
    span.end()
  }
}
