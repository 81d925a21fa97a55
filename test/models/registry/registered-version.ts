import type { StoredCheck } from '../../../src/models/registry/checks/promotion-verdict.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'

/** A candidate of `als-model` for tests. */
export function registeredVersion(
  number: number,
  checks: readonly StoredCheck[] = [],
): RegisteredVersion {
  return {
    name: 'als-model',
    processingName: `als-${number}`,
    id: `id-${number}`,
    number,
    topic: 'als-model',
    createdMs: number,
    dimension: 4,
    users: 2,
    items: 3,
    lineage: {
      ranges: [{ topic: 'ratings', partition: 0, from: 0, to: number * 100 }],
      files: [],
      code: 'als/1',
      hyperparameters: { factors: 4 },
      metrics: { rmse: 1 / number },
      newestEventMs: number,
    },
    state: 'candidate',
    checks,
    notes: [],
  }
}
