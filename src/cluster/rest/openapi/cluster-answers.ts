import {
  EMPTY_LIST,
  FLAG,
  ID,
  listOf,
  NUMBER,
  objectOf,
  recordOf,
  type Schema,
  TEXT,
  TIME,
  WHOLE,
} from './schema.ts'

/** `/config`. */
export const DASHBOARD_CONFIG = objectOf({
  'refresh-interval': WHOLE,
  'timezone-name': TEXT,
  'timezone-offset': WHOLE,
  'flink-version': TEXT,
  'flink-revision': TEXT,
  features: recordOf(['web-submit', 'web-cancel', 'web-rescale', 'web-history'], FLAG),
})

/** `/overview`. */
export const OVERVIEW = objectOf({
  taskmanagers: WHOLE,
  'slots-total': WHOLE,
  'slots-available': WHOLE,
  'jobs-running': WHOLE,
  'jobs-finished': WHOLE,
  'jobs-cancelled': WHOLE,
  'jobs-failed': WHOLE,
  'flink-version': TEXT,
  'flink-commit': TEXT,
})

/** `/health/live`. */
export const LIVE = objectOf({ live: FLAG })

/** `/health/ready`. */
export const READY = objectOf({ ready: FLAG, waiting: listOf(TEXT) })

/** `/health/startup`. */
export const STARTED = objectOf({ started: FLAG, waiting: listOf(TEXT) })

/** `/jobmanager/config`. */
export const CONFIGURATION = listOf(objectOf({ key: TEXT, value: TEXT }))

/** `/jobmanager/environment`. */
export const ENVIRONMENT = objectOf({
  jvm: objectOf({ version: TEXT, arch: TEXT, options: listOf(TEXT) }),
  classpath: EMPTY_LIST,
})

/** `/jobmanager/logs`, `/taskmanagers/:taskmanagerid/logs`. */
export const LOGS = objectOf({ logs: listOf(objectOf({ name: TEXT, size: WHOLE, mtime: NUMBER })) })

/** Thread dumps. */
export const THREAD_DUMP = objectOf({
  threadInfos: listOf(objectOf({ threadName: TEXT, stringifiedThreadInfo: TEXT })),
})

/** `/jars`. */
export const JARS = objectOf({ address: TEXT, files: EMPTY_LIST })

/** `/datasets`. */
export const DATA_SETS = objectOf({ dataSets: EMPTY_LIST })

const RESOURCE = objectOf({
  cpuCores: NUMBER,
  taskHeapMemory: WHOLE,
  taskOffHeapMemory: WHOLE,
  managedMemory: WHOLE,
  networkMemory: WHOLE,
  extendedResources: objectOf({}),
})

const TASK_MANAGER_FIELDS: Readonly<Record<string, Schema>> = {
  id: TEXT,
  path: TEXT,
  dataPort: WHOLE,
  jmxPort: WHOLE,
  timeSinceLastHeartbeat: TIME,
  slotsNumber: WHOLE,
  freeSlots: WHOLE,
  totalResource: RESOURCE,
  freeResource: RESOURCE,
  hardware: objectOf({
    cpuCores: WHOLE,
    physicalMemory: WHOLE,
    freeMemory: WHOLE,
    managedMemory: WHOLE,
  }),
  memoryConfiguration: recordOf(
    [
      'frameworkHeap',
      'taskHeap',
      'frameworkOffHeap',
      'taskOffHeap',
      'networkMemory',
      'managedMemory',
      'jvmMetaspace',
      'jvmOverhead',
      'totalFlinkMemory',
      'totalProcessMemory',
    ],
    WHOLE,
  ),
  blocked: FLAG,
}

/** `/taskmanagers`. */
export const TASK_MANAGERS = objectOf({ taskmanagers: listOf(objectOf(TASK_MANAGER_FIELDS)) })

const POOLS = ['heap', 'nonHeap', 'direct', 'mapped']
const POOL_METRICS = [
  ...POOLS.flatMap((pool) =>
    [pool.endsWith('eap') ? 'Committed' : 'Count', 'Max', 'Used'].map((name) => `${pool}${name}`),
  ),
  ...['Available', 'Total'].map((name) => `memorySegments${name}`),
  ...['Available', 'Used', 'Total'].flatMap((name) => [
    `nettyShuffleMemorySegments${name}`,
    `nettyShuffleMemory${name}`,
  ]),
]

/** `/taskmanagers/:taskmanagerid`. */
export const TASK_MANAGER = objectOf({
  ...TASK_MANAGER_FIELDS,
  allocatedSlots: listOf(objectOf({ jobId: ID, resource: RESOURCE })),
  metrics: objectOf({
    ...Object.fromEntries(POOL_METRICS.map((name) => [name, NUMBER])),
    garbageCollectors: EMPTY_LIST,
  }),
})

/** Metrics of one thing: names, or values of those in `get`. */
export const METRICS = listOf(objectOf({ id: TEXT }, { value: TEXT }))

/** Metrics of many things: names, or aggregates of those in `get`. */
export const AGGREGATED_METRICS = listOf(
  objectOf({ id: TEXT }, { min: NUMBER, max: NUMBER, avg: NUMBER, sum: NUMBER, skew: NUMBER }),
)
