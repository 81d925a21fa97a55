import { dashboardFolder } from './flink/dashboard-server.ts'
import { pooledHdfs } from './lending/hdfs-pool.ts'
import { pooledKafka } from './lending/kafka-pool.ts'

/*
 * Downloads Kafka, HDFS and Flink for the tests: `node test/services/download.ts`. `.ci/run` starts it beside what
 * needs none of them.
 */

// They keep their classes, with which all later ones start sooner.
await (await pooledKafka()).stop()
await (await pooledHdfs()).stop()
await dashboardFolder()
