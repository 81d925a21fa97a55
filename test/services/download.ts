import { join } from 'node:path'
import { dashboardFolder } from './flink/dashboard-server.ts'
import { pooledKafka } from './lending/kafka-pool.ts'
import { mavenClassPath } from './maven-classpath.ts'

/*
 * Downloads Kafka, HDFS and Flink for the tests: `node test/services/download.ts`. `.ci/run` starts it beside what
 * needs none of them.
 */

// It keeps its classes, with which all later ones start sooner.
await (await pooledKafka()).stop()
await mavenClassPath(join(import.meta.dirname, 'hdfs/pom.xml'))
await dashboardFolder()
