import { expect, it } from 'vitest'
import { callSpan } from '../../../src/core/tracing/call-span.ts'
import { formatTraceParent } from '../../../src/core/tracing/context.ts'
import { tracingEnvironment } from '../../../src/core/tracing/environment.ts'
import { traceProgram, withSpan } from '../../../src/core/tracing/index.ts'
import type { Span } from '../../../src/core/tracing/span.ts'
import { tracer } from '../../../src/core/tracing/tracer.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const CALLER = `00-${TRACE}-${PARENT}-01`
/** Port 9 takes nothing: what is exported is dropped. */
const NOWHERE = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
const silent = (): void => {}
const current = async (): Promise<Span | undefined> => tracer?.current

it('a program without traces runs the work of its spans', async () => {
  expect(await withSpan('page', current)).toBeUndefined()
  expect(await withSpan('page', async () => 7)).toBe(7)
})

it('a span of a program is below the trace of its caller, and the calls of the work are below it', async () => {
  await using _traces = traceProgram(NOWHERE, silent)
  const seen = await withSpan(
    'page',
    async () => {
      await Promise.resolve()
      const inner = await withSpan('list', current)
      return { page: tracer?.current, inner, call: callSpan('rows', 'ALS_MODEL') }
    },
    { traceparent: CALLER, attributes: { route: '/' } },
  )
  const { page, inner, call } = seen
  expect(page).toMatchObject({ traceId: TRACE, start: { name: 'page', parentSpanId: PARENT } })
  expect(page!.attributes).toEqual({ route: '/' })
  expect(inner).toMatchObject({ traceId: TRACE, start: { parentSpanId: page!.spanId } })
  expect(call).toMatchObject({ traceId: TRACE, start: { parentSpanId: page!.spanId } })
  expect(page!.endMs).toBeGreaterThanOrEqual(inner!.endMs)
})

it('work that is not sampled has no span, and work without a caller a trace of its own', async () => {
  await using _traces = traceProgram(NOWHERE, silent)
  const unsampled = `${CALLER.slice(0, -2)}00`
  expect(await withSpan('page', current, { traceparent: unsampled })).toBeUndefined()
  const own = await withSpan('page', current)
  expect(own!.start.parentSpanId).toBeUndefined()
  expect(formatTraceParent(own!)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
})

it('a span of work that failed has its code', async () => {
  await using _traces = traceProgram(NOWHERE, silent)
  let span: Span | undefined
  const failing = withSpan('page', async () => {
    span = tracer?.current
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(span).toMatchObject({ error: 'ERROR' })
})

it('threads that the program starts get its variables; a wrong one is a warning', async () => {
  const warnings: string[] = []
  const wrong = { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere', HOME: '/' }
  await using _traces = traceProgram(wrong, (warning) => warnings.push(warning))
  expect(warnings).toEqual([expect.stringContaining('nothing is traced')])
  expect(tracer).toBeUndefined()
  expect(tracingEnvironment()).toEqual({ OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' })
})
