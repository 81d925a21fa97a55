import { describe, expect, it } from 'vitest'
import {
  decodeContext,
  encodeContext,
  formatTraceParent,
  newId,
  parseTraceParent,
} from '../../../src/core/tracing/context.ts'
import { otlpTraces } from '../../../src/core/tracing/otlp.ts'
import { samplerOf } from '../../../src/core/tracing/sampler.ts'
import { tracingSettings } from '../../../src/core/tracing/settings.ts'
import { SPAN_KIND, Span } from '../../../src/core/tracing/span.ts'
import {
  currentTraceParent,
  startTracing,
  stopTracing,
  tracer,
} from '../../../src/core/tracing/tracer.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

describe('a traceparent', () => {
  it('is read as the W3C says, also of later versions', () => {
    const expected = { traceId: TRACE, spanId: PARENT, isSampled: true }
    expect(parseTraceParent(`00-${TRACE}-${PARENT}-01`)).toEqual(expected)
    expect(parseTraceParent(`cc-${TRACE}-${PARENT}-03-what-comes`)).toEqual(expected)
    expect(parseTraceParent(`00-${TRACE}-${PARENT}-00`)).toMatchObject({ isSampled: false })
  })

  it.each([
    undefined,
    '',
    'nonsense',
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
  ])('that is malformed starts a new trace: %s', (header) => {
    expect(parseTraceParent(header)).toBeUndefined()
  })

  it('has the same ids after a frame', () => {
    const context = { traceId: newId(16), spanId: newId(8) }
    const bytes = Uint8Array.of(9, 9, ...encodeContext(context))
    expect(decodeContext(bytes, 2)).toEqual(context)
    expect(decodeContext(new Uint8Array(24), 0)).toBeUndefined()
    expect(parseTraceParent(formatTraceParent(context))).toEqual({ ...context, isSampled: true })
  })
})

describe('a sampler', () => {
  const sampled = { traceId: TRACE, spanId: PARENT, isSampled: true }
  const other = { ...sampled, isSampled: false }

  it.each([
    [undefined, '', [true, true, false]],
    ['always_on', '', [true, true, true]],
    ['always_off', '', [false, false, false]],
    ['parentbased_always_off', '', [false, true, false]],
    ['parentbased_traceidratio', '0', [false, true, false]],
    ['parentbased_traceidratio', '1', [true, true, false]],
  ] as const)('%s %s decides for no parent, a sampled and another one', (name, argument, want) => {
    const sampler = samplerOf(name, argument)
    expect([undefined, sampled, other].map((parent) => sampler(parent, TRACE))).toEqual(want)
  })

  it('of a share takes about that share of the traces', () => {
    const sampler = samplerOf('traceidratio', '0.25')
    let taken = 0
    for (let n = 0; n < 4000; n++) if (sampler(undefined, newId(16))) taken++
    // 8 standard deviations.
    expect(Math.abs(taken - 1000)).toBeLessThan(220)
  })

  it('with another name or share is refused', () => {
    expect(() => samplerOf('jaeger_remote')).toThrow('OTEL_TRACES_SAMPLER is jaeger_remote')
    expect(() => samplerOf('traceidratio', '2')).toThrow('a share from 0 to 1')
  })
})

describe('the settings of tracing', () => {
  it('are missing without an endpoint, or when the SDK is disabled', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
    expect(tracingSettings({})).toBeUndefined()
    expect(tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeUndefined()
    expect(tracingSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBeUndefined()
    expect(tracingSettings({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined()
  })

  it('come from the variables of OpenTelemetry', () => {
    const settings = tracingSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret,x-tenant=a',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment=test',
      OTEL_SERVICE_NAME: 'movies',
    })
    expect(settings).toMatchObject({
      url: 'http://collector:4318/v1/traces',
      headers: { authorization: 'Bearer secret', 'x-tenant': 'a' },
      resource: { 'service.name': 'movies', 'deployment.environment': 'test' },
      delayMs: 5000,
    })
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1/otlp' }
    expect(tracingSettings(own)?.url).toBe('http://127.0.0.1/otlp')
  })

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'no URL of HTTP'],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'http/json'],
    [{ OTEL_BSP_SCHEDULE_DELAY: 'soon' }, 'OTEL_BSP_SCHEDULE_DELAY is soon'],
  ])('with a wrong value are a warning, and nothing is traced: %j', (env, message) => {
    const warnings: string[] = []
    startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...env }, (warning) =>
      warnings.push(warning),
    )
    expect(tracer).toBeUndefined()
    expect(warnings).toEqual([expect.stringContaining(message)])
  })
})

describe('a tracer', () => {
  it('makes spans below the request that calls, and none of requests that are not sampled', async () => {
    // Port 9 takes nothing: what is exported is dropped.
    startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, () => {})
    try {
      expect(currentTraceParent()).toBeUndefined()
      const span = tracer!.request('GET /', `00-${TRACE}-${PARENT}-01`, {})!
      expect(span).toMatchObject({ traceId: TRACE, start: { parentSpanId: PARENT } })
      await tracer!.run(span, async () => {
        await Promise.resolve()
        expect(currentTraceParent()).toBe(`00-${TRACE}-${span.spanId}-01`)
      })
      expect(tracer!.request('GET /', `00-${TRACE}-${PARENT}-00`, {})).toBeUndefined()
      expect(tracer!.request('GET /', undefined, {})!.start.parentSpanId).toBeUndefined()
    } finally {
      await stopTracing()
    }
    expect(tracer).toBeUndefined()
  })
})

it('spans are exported in the JSON of OTLP', () => {
  const spans: Span[] = []
  const span = new Span(
    {
      traceId: TRACE,
      spanId: PARENT,
      parentSpanId: undefined,
      name: 'GET /',
      kind: SPAN_KIND.server,
      attributes: { route: '/', count: 2, share: 0.5, isHot: true },
      startMs: 1_700_000_000_000.25,
    },
    (ended) => spans.push(ended),
  )
  span.set('count', 3)
  span.fail('TIMEOUT')
  span.end()
  span.end()
  expect(spans).toEqual([span])
  span.endMs = 1_700_000_000_001
  expect(otlpTraces({ 'service.name': 'weir' }, spans)).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'weir' } }] },
        scopeSpans: [
          {
            scope: { name: 'weir' },
            spans: [
              {
                traceId: TRACE,
                spanId: PARENT,
                name: 'GET /',
                kind: 2,
                startTimeUnixNano: '1700000000000250000',
                endTimeUnixNano: '1700000000001000000',
                attributes: [
                  { key: 'route', value: { stringValue: '/' } },
                  { key: 'count', value: { intValue: '3' } },
                  { key: 'share', value: { doubleValue: 0.5 } },
                  { key: 'isHot', value: { boolValue: true } },
                ],
                status: { code: 2, message: 'TIMEOUT' },
              },
            ],
          },
        ],
      },
    ],
  })
})
