import { apiReference } from './api-reference.ts'
import { benchmarkPage } from './benchmark-results.ts'
import { cliReference } from './cli-reference.ts'
import { configurationReference } from './configuration-reference.ts'
import { errorReference } from './error-reference.ts'
import { kafkaErrorReference } from './kafka-error-reference.ts'

/** Generated pages of docs/reference: the text of each, by file name. */
export const REFERENCE_PAGES: Readonly<Record<string, () => string>> = {
  'api/weir.md': () => apiReference('@weirjs/weir', 'index.ts'),
  'api/client.md': () => apiReference('@weirjs/client', 'client/index.ts'),
  'api/inference.md': () => apiReference('@weirjs/weir/inference', 'inference.ts'),
  'api/kafka.md': () => apiReference('@weirjs/weir/kafka', 'connectors/kafka/index.ts'),
  'api/learning.md': () => apiReference('@weirjs/weir/learning', 'learning.ts'),
  'api/testing.md': () => apiReference('@weirjs/weir/testing', 'testing/index.ts'),
  'api/tracing.md': () => apiReference('@weirjs/weir/tracing', 'core/tracing/index.ts'),
  'benchmarks.md': benchmarkPage,
  'cli.md': cliReference,
  'configuration.md': configurationReference,
  'errors.md': errorReference,
  'kafka-errors.md': kafkaErrorReference,
}
