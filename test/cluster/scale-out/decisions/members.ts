import { GROUP_FORMATS } from '../../../../src/cluster/scale-out/decisions/frame.ts'
import type {
  JobIdentity,
  MemberData,
} from '../../../../src/cluster/scale-out/decisions/member-data.ts'

/** Identity of the job of these tests. */
export const JOB: JobIdentity = {
  fingerprint: '00112233445566778899aabbccddeeff',
  storageId: 'ffeeddccbbaa99887766554433221100',
  cluster: 'kafka-1',
  partitions: 8,
  maxParallelism: 128,
}

/** Member that owns nothing, with what a test says of it. */
export function memberWith(facts: Partial<MemberData> = {}): MemberData {
  return {
    understands: GROUP_FORMATS,
    joinId: 77,
    processVersion: '0.1.0',
    address: '',
    job: JOB,
    capacity: 1,
    isDraining: false,
    generation: facts.owned === undefined ? undefined : 1,
    owned: [],
    standbys: [],
    refused: [],
    ...facts,
  }
}

/** Identity of the job with another number of partitions. */
export function jobOf(partitions: number): JobIdentity {
  return { ...JOB, partitions, maxParallelism: 1024 }
}
