import type { MetricFamily } from './text-format.ts'

/** Requests that a port has refused for their token, by error code; each series exists from the start. */
export function refusedFamily(refused: Readonly<Record<string, number>>): MetricFamily {
  return {
    name: 'weir_refused_requests_total',
    type: 'counter',
    help: 'HTTP requests refused because their token is missing, wrong or lacks a right.',
    samples: Object.entries(refused).map(([code, value]) => ({ labels: { code }, value })),
  }
}
