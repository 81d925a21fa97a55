/** A promise whose test was shortened, merged or moved, and the tests that hold it now. */
export interface MovedTest {
  readonly promise: string
  /** What held it before. */
  readonly was: string
  readonly now: readonly HoldingTest[]
}

/** A test that holds a promise. */
export interface HoldingTest {
  /** Path from the root of the repository. */
  readonly file: string
  /** Its name as the file spells it, or how the name begins. */
  readonly test: string
}

const DISK = 'test/disk'
const RECOVERY = 'test/recovery'
const SYSTEM = 'test/system'

/**
 * Each promise whose test was shortened, merged or moved: none has lost its test. Where the whole of a campaign holds
 * more than its short part, `was` says what the short part leaves out. CI runs half a minute of each sixth, by the commit.
 */
export const MOVED_TESTS: readonly MovedTest[] = [
  {
    promise:
      'what was acknowledged survives a crash at any file operation, also on disks that fail',
    was: 'test/system/disk/crash-campaign.test.ts, 10,000 crashes, and a sample with seed 1; now 70 of each commit, and 2,000',
    now: [
      {
        file: `${DISK}/crash-campaign.test.ts`,
        test: 'loses nothing that was acknowledged, whenever a process dies, also on disks that fail',
      },
    ],
  },
  {
    promise: 'damage of a file is never silent, and no whole file is touched',
    was: 'test/system/disk/damage-campaign.test.ts, 2,200 damages, and a sample with seed 1; now 140 of each commit, and 900',
    now: [
      {
        file: `${DISK}/damage-campaign.test.ts`,
        test: 'damaged %s give the same data or an error that names the file, and no whole file is touched',
      },
    ],
  },
  {
    promise: 'a coordinator of checkpoints keeps its invariants in rough worlds',
    was: 'test/system/checkpoint/coordinator-simulation.test.ts, 40 worlds of fixed seeds; now 6 of each commit, and 60',
    now: [
      {
        file: 'test/runtime/checkpoint/simulation/coordinator-simulation.test.ts',
        test: 'keeps its invariants when messages are lost, late or doubled, and calls and processes fail, pause or die',
      },
    ],
  },
  {
    promise: 'a coordinator of checkpoints survives a fault at every storage call',
    was: 'test/system/checkpoint/coordinator-simulation.test.ts, in one world; now every eighth call, and every one, of a world of each commit',
    now: [
      {
        file: 'test/runtime/checkpoint/simulation/coordinator-simulation.test.ts',
        test: 'survives %s at any storage call',
      },
    ],
  },
  {
    promise: 'keyed state agrees with plain maps in long runs, through checkpoints and restores',
    was: 'test/system/state/keyed-state-model.test.ts, fixed seeds; now the shorter test runs as long in its whole, with a seed of each commit',
    now: [
      {
        file: 'test/state/keyed-state-model.test.ts',
        test: 'agree with plain maps on ',
      },
    ],
  },
  {
    promise: 'keyed state on LevelDB agrees with plain maps',
    was: '1,500 operations with seed 4; now 600 of each commit',
    now: [
      {
        file: `${SYSTEM}/state/leveldb-state.test.ts`,
        test: 'agrees with plain maps over random operations, checkpoints and restores',
      },
    ],
  },
  {
    promise: 'windows of every kind lose and repeat no result when slots are killed',
    was: 'seeds 1 and 2; now one of each commit with half the records, and four',
    now: [
      {
        file: 'test/dataflow/windows-under-kills.test.ts',
        test: 'lose and repeat no result when slots are killed (WEIR_SEED=%i)',
      },
    ],
  },
  {
    promise: 'training on a9a at C = 10 needs few passes',
    was: 'all rows; now a fifth in the short part, with a bound of its own',
    now: [
      {
        file: 'test/training/linear/train.test.ts',
        test: 'needs few passes for a gap of 1e-5 at C = 10',
      },
    ],
  },
  {
    promise: 'no fault of processes, services and connections loses, repeats or falsifies a result',
    was: 'all faults; now, in every second commit, one of every second group, in CI one of each in each sixth commit, and every second one, each by the seed; all in npm run verify -- --minutes 1',
    now: [
      {
        file: `${SYSTEM}/cli/verify.test.ts`,
        test: 'finds no lost, duplicate or wrong result after faults: ',
      },
    ],
  },
  {
    promise: 'the fault verifier finds errors of jobs and of Weir',
    was: 'four errors; now one of them by the seed, in CI in each sixth commit, and two; all fourteen of Weir in npm run verify -- --campaign mutants',
    now: [
      { file: `${SYSTEM}/cli/verify.test.ts`, test: 'fails a sink that writes twice' },
      {
        file: `${SYSTEM}/cli/verify.test.ts`,
        test: 'fails a fold of deltas that does not drop duplicates',
      },
      { file: `${SYSTEM}/cli/verify.test.ts`, test: 'fails the mutant $name' },
    ],
  },
  {
    promise: 'a learning job holds no more memory and files after switches than before',
    was: '84 s; now 15 s, which judges threads, descriptors and files but not memory, and 84 s',
    now: [
      {
        file: `${SYSTEM}/verify/soak.test.ts`,
        test: 'a learning job holds no more memory and files after switches of versions than before',
      },
    ],
  },
  {
    promise: 'mutated requests end no process',
    was: '20 s; now 5 s, and 20 s',
    now: [
      {
        file: `${SYSTEM}/verify/fuzz.test.ts`,
        test: 'mutated requests end no process, and good ones are still answered',
      },
    ],
  },
  {
    promise: 'versions go live under load without a failed or mixed prediction',
    was: '300 versions and 5 kills with seed 1; now 40 and 2 of each commit, and 150 and 3',
    now: [
      {
        file: `${SYSTEM}/verify/switches.test.ts`,
        test: 'small versions go live under load, with slots killed, without a failed or mixed prediction',
      },
    ],
  },
  {
    promise: 'hostile clients do not hold up a good one',
    was: 'nine attacks; now two of each commit, nine, and four in CI',
    now: [
      {
        file: `${SYSTEM}/serving/hostile-clients.test.ts`,
        test: 'hostile clients do not hold up a good one or checkpoints, and memory comes back',
      },
    ],
  },
  {
    promise: 'killed workers of models lose no request and answer none twice',
    was: '20 kills; now 6, and 20',
    now: [
      {
        file: `${SYSTEM}/inference/workers/killed-workers.test.ts`,
        test: 'workers that are killed in any state lose no request and answer none twice',
      },
    ],
  },
  {
    promise: 'the memory of retired versions is free',
    was: 'six versions; now four, and six',
    now: [
      {
        file: `${RECOVERY}/retired-versions.test.ts`,
        test: 'frees the memory of all retired versions, including rows that were only learned',
      },
    ],
  },
  {
    promise: 'models that are loaded and unloaded leave nothing behind',
    was: '30 loads; now 10, and 30',
    now: [
      {
        file: `${SYSTEM}/inference/repeated-loads.test.ts`,
        test: 'models that are loaded and unloaded leave no memory, descriptors or threads behind',
      },
    ],
  },
  {
    promise: 'the gateway and the JobManager give only answers that their documents have',
    was: 'all paths; now a tenth of those of the gateway and a fifth of those of the JobManager, by the seed, and all',
    now: [
      {
        file: `${SYSTEM}/gateway/openapi.test.ts`,
        test: 'finds no answer of the gateway that its OpenAPI document does not have',
      },
      {
        file: `${SYSTEM}/jobmanager/openapi.test.ts`,
        test: 'finds no answer of a JobManager that its OpenAPI document does not have',
      },
    ],
  },
  {
    promise:
      'queries of Nexmark give the rows of Flink in one, two and three slots that are killed',
    was: 'all queries in each number of slots, beside a run of Flink; now a third of them in one number, by digests of the rows of Flink, and a third in each number beside a run of Flink',
    now: [
      { file: `${SYSTEM}/runtime/nexmark-rows.test.ts`, test: '%s gives the rows of Flink' },
      {
        file: `${SYSTEM}/runtime/nexmark-rows.test.ts`,
        test: 'the digests of the short part are those of the rows of Flink',
      },
    ],
  },
  {
    promise: 'a user of Kafka needs a login and rights, and is told which',
    was: 'test/system/kafka/cli.test.ts, security flags',
    now: [
      {
        file: `${SYSTEM}/kafka/cli-security.test.ts`,
        test: 'lead to an error when the password is wrong or the user lacks the right',
      },
      {
        file: `${SYSTEM}/kafka/cli-security.test.ts`,
        test: 'weir doctor says why it cannot list the topics of a broker',
      },
    ],
  },
  {
    promise: 'the commands of the guide run',
    was: 'all pages; now the short ones, every third long one, in CI every second one in each sixth commit, and one of the two on Kafka, and all',
    now: [
      {
        file: `${SYSTEM}/docs/guide-sessions.test.ts`,
        test: 'docs/guide/%s: its commands run, one after the other',
      },
      {
        file: `${SYSTEM}/docs/kafka-pages.test.ts`,
        test: 'docs/guide/from-flink.md: its commands run on a real Kafka and HDFS',
      },
      {
        file: `${SYSTEM}/docs/kafka-pages.test.ts`,
        test: 'docs/guide/kafka.md: its commands run, one after the other',
      },
    ],
  },
  {
    promise: 'kills of threads and processes lose and repeat no record, on every backend',
    was: 'ten kills on each of three backends; now six on one of them, and ten on each',
    now: [
      {
        file: `${RECOVERY}/exactly-once-under-kills.test.ts`,
        test: 'loses and repeats no record when threads and processes are killed',
      },
    ],
  },
  {
    promise: 'a log whose process is killed keeps every acknowledged record',
    was: 'ten kills with a seed of each run; now four of each commit, and ten',
    now: [
      {
        file: `${RECOVERY}/log-kill.test.ts`,
        test: 'keeps every acknowledged record and no incomplete batch, kill after kill',
      },
    ],
  },
  {
    promise:
      'online learning counts each rating once under kills, and learns as well as in sequence',
    was: 'the rules of SGD and of the Gram matrix; now one of them, and both',
    now: [
      {
        file: `${RECOVERY}/online-learning.test.ts`,
        test: 'keeps every item row equal to its base plus the distinct deltas, under kills',
      },
      {
        file: `${RECOVERY}/online-learning.test.ts`,
        test: 'folds each pair of the log once into every item, under kills',
      },
      {
        file: `${RECOVERY}/online-learning.test.ts`,
        test: 'has an error within one hundredth of sequential learning, at full speed on several slots: $rule',
      },
    ],
  },
  {
    promise: 'a history leaves out ratings whose ids are too long, and counts them',
    was: 'test/jobs/histories/functions.test.ts; now the operator that reads ratings refuses them',
    now: [
      {
        file: 'test/jobs/histories/ratings-operator.test.ts',
        test: 'a record that is no rating, or whose ids are too long, is refused with its bytes and its place',
      },
    ],
  },
  {
    promise: 'a switch of versions learns each observation exactly once, under kills',
    was: 'four switches; now two, and four',
    now: [
      {
        file: `${RECOVERY}/online-switch.test.ts`,
        test: 'learns each observation exactly once, on every version, under kills',
      },
    ],
  },
  {
    promise: 'unaligned checkpoints lose and repeat nothing, and restore at another parallelism',
    was: 'each timeout, parallelism and place; now every second or fourth one, and all',
    now: [
      {
        file: `${RECOVERY}/unaligned-checkpoints.test.ts`,
        test: 'takes an unaligned checkpoint with records in flight, and goes on from it at parallelism %i',
      },
      {
        file: `${RECOVERY}/unaligned-checkpoints.test.ts`,
        test: 'loses and repeats no record when threads and processes are killed, with an aligned timeout of %s',
      },
      {
        file: `${RECOVERY}/unaligned-checkpoints.test.ts`,
        test: 'gives the golden output from an unaligned checkpoint at entry %i, restored at parallelism %i',
      },
    ],
  },
  {
    promise: 'formats, batches, frames and messages are read or refused, whatever their bytes',
    was: 'cases of fixed seeds; now the first fifth of them, and all',
    now: [
      { file: 'test/core/formats/formats.test.ts', test: 'reads whatever it wrote' },
      {
        file: 'test/core/formats/formats.test.ts',
        test: 'reads or refuses any bytes, also those that were damaged',
      },
      {
        file: 'test/wire/batch/record-batch.test.ts',
        test: 'throws only WeirErrors and keeps slices inside the buffer for mutated batches',
      },
      {
        file: 'test/wire/batch/record-batch.test.ts',
        test: 'throws only WeirErrors for random bytes',
      },
      { file: 'test/wire/fuzz.test.ts', test: 'throw nothing but typed errors on mutations' },
      { file: 'test/wire/fuzz.test.ts', test: 'throw only typed errors on random bytes' },
    ],
  },
  {
    promise:
      'tables, windows in slices and vector state agree with plain models over random operations',
    was: 'a fixed number of seeds or operations; now the first third or fifth of them, and all',
    now: [
      { file: 'test/state/vector/versioned-rows.property.test.ts', test: '${spill ? ' },
      {
        file: 'test/state/rows/row-table.test.ts',
        test: 'finds exactly the keys that are there, through random insertion and removal',
      },
      {
        file: 'test/operators/windows/sliced-operator.test.ts',
        test: 'give the results of windows with their own contents',
      },
      {
        file: 'test/operators/windows/sliced-operator.test.ts',
        test: 'go on from a savepoint of windows with their own contents',
      },
      {
        file: 'test/runtime/subtask/hash-output.test.ts',
        test: 'gives every receiver the bytes of each key, whatever comes again and loses its place',
      },
      {
        file: 'test/core/key-group.test.ts',
        test: 'assign every group to exactly one subtask, whatever the parallelism',
      },
      {
        file: 'test/core/kernels/top-k-screen.test.ts',
        test: 'never misses a row that beats the threshold, whatever the numbers',
      },
      {
        file: 'test/serving/top-k/scan.test.ts',
        test: 'a heap of hundreds of keys keeps each key once while keys leave and come back',
      },
      {
        file: 'test/state/port/short-key.test.ts',
        test: 'of %i bytes has a hash of its own among those of its form and rest',
      },
      {
        file: 'test/state/values/element-arena.test.ts',
        test: 'takes no more memory while as many elements are released as are added',
      },
      {
        file: 'test/state/vector/states.test.ts',
        test: 'stay within the budget together, also when one filled it before the other had a row',
      },
      {
        file: 'test/state/vector/versioned-rows.test.ts',
        test: 'images are freed again, so memory does not grow with checkpoints',
      },
      {
        file: 'test/connectors/file/decoded.test.ts',
        test: 'is unpacked if it is gzip, of one member or several',
      },
    ],
  },
  {
    promise: 'learning that goes on from trained weights never lowers the accuracy',
    was: '14,000 examples of each shape, with both losses; now 5,000 with one of the losses, by the commit, and all',
    now: [
      {
        file: 'test/training/linear/prior.test.ts',
        test: 'never lowers the accuracy on examples %s, with %s loss',
      },
    ],
  },
  {
    promise: 'the graphs of a GPU compute what the kernels compute',
    was: 'all settings; now half of those of ALS and one of those of BMF, by the commit, and all',
    now: [
      {
        file: 'test/training/als/gpu/solver.test.ts',
        test: 'solve what the kernels solve: rows, objective and penalty of %s',
      },
      { file: 'test/training/bmf/gpu/drawer.test.ts', test: 'draw what the kernels draw: %s' },
    ],
  },
  {
    promise: 'ratings in files train the same rows as in memory',
    was: 'four kinds of training; now one of them, by the commit, and all',
    now: [
      {
        file: 'test/training/spill/ratings-spill.test.ts',
        test: 'train the same rows as in memory with %o',
      },
    ],
  },
  {
    promise: 'newcomers weigh little, however many they are',
    was: 'all rules and shapes; now one of them, by the commit, and all',
    now: [
      {
        file: 'test/models/als/online/rules.test.ts',
        test: 'weigh little however many they are: %o',
      },
    ],
  },
  {
    promise: 'honest growth of the observations passes the checks of a promotion',
    was: 'five trainings; now two, and five',
    now: [
      {
        file: 'test/jobs/promotion/checks.test.ts',
        test: 'growth: trainings on more and more ratings',
      },
    ],
  },
  {
    promise: 'a job counts every record exactly once when slots are killed',
    was: 'seeds 1 and 2; now seed 1, and both',
    now: [
      {
        file: 'test/runtime/job/recovery.test.ts',
        test: 'counts every record exactly once when slots are killed (seed %i)',
      },
    ],
  },
  {
    promise: 'a connection may send a request in two parts, cut anywhere',
    was: 'a cut at each byte; now at every eighth one, by the commit, and at each',
    now: [
      {
        file: 'test/gateway/hot/routes.test.ts',
        test: 'may send a request in two parts, cut anywhere',
      },
    ],
  },
  {
    promise: 'one flipped bit of topic.json is found by its checksum',
    was: 'every seventh byte; now every 23rd one, and every seventh',
    now: [
      {
        file: 'test/connectors/log/check/log-repair.test.ts',
        test: 'finds one flipped bit of topic.json by its checksum, and says what to write into a lost one',
      },
    ],
  },
  {
    promise: '--changed refuses a commit that git does not know',
    was: 'test/run/changed/git.test.ts, a repository for each of four words; now one for all four',
    now: [
      {
        file: 'test/system/run/git.test.ts',
        test: 'are refused since a commit that git does not know',
      },
    ],
  },
  {
    promise: 'rows that are screened by codes are those of a scan of all',
    was: 'a number of rounds; now the first quarter of them, and all',
    now: [
      { file: 'test/serving/top-k/screen.test.ts', test: '%s are found as by scoring all' },
      {
        file: 'test/serving/top-k/screen.test.ts',
        test: 'updates, removals and new rows between two passes are seen',
      },
      {
        file: 'test/serving/top-k/screen.test.ts',
        test: 'rows that change during a pass are found with one of their values',
      },
    ],
  },
  {
    promise: 'a row of ALS is solved as by the plain reference',
    was: 'nine shapes; now half of them, by the commit, and all',
    now: [
      {
        file: 'test/core/kernels/als-row.test.ts',
        test: 'an ALS row with $factors factors, $count ratings, biased $biased',
      },
    ],
  },
  {
    promise: 'a state store opens without its native module',
    was: 'test/state/store/open.test.ts, which loaded all modules again for the files after it in its process',
    now: [
      {
        file: 'test/system/state/store-open.test.ts',
        test: 'opens LevelDB instead of RocksDB with one warning',
      },
      {
        file: 'test/system/state/store-open.test.ts',
        test: 'opens the heap when LevelDB does not load either',
      },
    ],
  },
  {
    promise: "training by Newton's method gives the same bits in worker threads",
    was: 'test/training/linear/newton.test.ts',
    now: [
      {
        file: 'test/system/training/linear-threads.test.ts',
        test: "training by Newton's method gives the same bits on 0 and 2 threads",
      },
    ],
  },
  {
    promise: 'the drift monitor raises no alarm on stationary ratings',
    was: '500,000 ratings; now 100,000, and 500,000',
    now: [
      {
        file: 'test/models/quality/drift-monitor.test.ts',
        test: 'raises no alarm on stationary ratings, and one within 2,000 after a total turn',
      },
    ],
  },
  {
    promise:
      'a stream of values keeps texts that come again, and sessions of parts are those of the records',
    was: '20,000 values and three seeds; now 5,000 and one, and all',
    now: [
      {
        file: 'test/core/shapes/stream.test.ts',
        test: 'keeps texts that come again, in places that others take over',
      },
      {
        file: 'test/operators/folding/session-fold.test.ts',
        test: 'are those of the records, late ones too (%s)',
      },
    ],
  },
  {
    promise: 'a candidate is kept while the retraining that publishes it may go on',
    was: 'test/jobs/retrain/retrain.test.ts, is kept while its retraining may go on',
    now: [
      {
        file: 'test/models/registry/unfinished.test.ts',
        test: 'of a retraining of another machine',
      },
      { file: 'test/models/topic/publication.test.ts', test: 'of this process goes on until' },
    ],
  },
  {
    promise: 'the tests of a change are those that git says it reaches',
    was: 'test/run/changed-tests.test.ts, which starts git many times',
    now: [
      {
        file: `${SYSTEM}/run/changed-tests.test.ts`,
        test: 'a change runs the tests that reach it, with the seconds of their last run',
      },
    ],
  },
  {
    promise: 'the normal numbers of a GPU, which threads draw ahead, are those of the CPU',
    was: 'test/training/bmf/gpu/normals-ahead.test.ts',
    now: [
      {
        file: `${SYSTEM}/training/normals-ahead.test.ts`,
        test: 'are those of the CPU, with %i threads',
      },
    ],
  },
  {
    promise:
      'the parts of the product fit together, two by two, when each command is a process of its own',
    was: 'test/system/combinations/campaign.test.ts, which started a process for each command; now services are processes, and the other commands run in that of the test. Every second run has a fifteenth of all pairs of parts, by the seed, in some 10 trials, the others a sixtieth, and CI a fifth of them in each sixth commit; all pairs, in some 110, in npm run verify -- --campaign combinations',
    now: [
      {
        file: `${SYSTEM}/combinations/campaign.test.ts`,
        test: 'parts put together with the defaults lose nothing, and answer and measure as their rows do',
      },
      {
        file: `${SYSTEM}/combinations/week.test.ts`,
        test: 'a week with $name on $place: each day what is served, counted and measured is right',
      },
    ],
  },
  {
    promise: 'windows of every kind give after a restore what they give without one',
    was: 'seeds 1 to 12, and 1 to 300; now 4 of each commit, and 100',
    now: [
      {
        file: 'test/operators/windows/restored-windows.test.ts',
        test: 'give what they give without one (',
      },
      {
        file: 'test/operators/windows/restored-windows.test.ts',
        test: 'take late records of windows that a former release has fired (%s)',
      },
    ],
  },
  {
    promise: 'windows with functions of any kind give what folding gives',
    was: '60 cases, and 2,000; now 30 of each commit, and 1,000',
    now: [
      {
        file: 'test/dataflow/any-function.test.ts',
        test: 'give what folding one record after the other gives (WEIR_SEED=',
      },
    ],
  },
  {
    promise: 'poisoned observations are refused, each in every way',
    was: 'seeds 1 and 2, and six; now one of the six, by the commit, and six',
    now: [
      {
        file: 'test/jobs/promotion/poisonings.test.ts',
        test: '$name, seed $seed',
      },
    ],
  },
  {
    promise: 'every route of a gateway refuses a body that costs much, in each type of content',
    was: 'each route with three types; now with one of them, from route to route another by the seed, and with all three',
    now: [
      {
        file: 'test/gateway/http/hostile-bodies.test.ts',
        test: 'refuses it and blames the client: %s',
      },
    ],
  },
  {
    promise: 'a test finds each error that Weir once had',
    was: 'test/system/verify/tested-mutants.test.ts, all mutants, each with whole campaigns, in ten minutes; now one of each commit, and six, each with the short part of its test; all in npm run verify -- --campaign mutants',
    now: [
      {
        file: `${SYSTEM}/cli/verify.test.ts`,
        test: 'a test fails on a Weir with an error that it once had',
      },
    ],
  },
  {
    promise: 'a state that no operator claims is refused, and a mutant that drops it is found',
    was: 'the mutant was judged by random changed jobs, of which 50 may have none that shows it; now by the test of a renamed state',
    now: [
      {
        file: 'test/runtime/job/renamed-state.test.ts',
        test: 'is refused with its name, and dropped where that is allowed',
      },
    ],
  },
  {
    promise: 'switches of the live version fail no request and mix no rows of two versions',
    was: '100 switches; now 30, and 100',
    now: [
      {
        file: `${SYSTEM}/serving/model-switch.test.ts`,
        test: 'many times under load fails no request and mixes no rows of two versions',
      },
    ],
  },
  {
    promise:
      'each read with a bound finds the record that was appended before it, also when slots are killed',
    was: '60 reads; now 30, and 60, each with two kills',
    now: [
      {
        file: `${SYSTEM}/serving/read-bounds.test.ts`,
        test: 'reads at a position include the acknowledged record, also while a slot is killed',
      },
    ],
  },
  {
    promise: 'a week with each kind of model is right, on the embedded log and on Kafka',
    was: 'test/system/combinations/week.test.ts and kafka-week.test.ts, four kinds each, each command a process; then one kind of each by the seed, and two; now one week of the eight by the seed, in CI two in each sixth commit, and all four kinds on the embedded log with two of them on Kafka, with commands in the process of the test',
    now: [
      {
        file: `${SYSTEM}/combinations/week.test.ts`,
        test: 'a week with $name on $place: each day what is served, counted and measured is right',
      },
    ],
  },
  {
    promise: 'a running job whose broker stops says for what it waits, and goes on when it is back',
    was: 'test/system/kafka/outages/unreachable.test.ts, with a broker of its own, as each of those beside it now',
    now: [
      {
        file: `${SYSTEM}/kafka/outages/readiness.test.ts`,
        test: 'says after 3 s for what it waits and shows for how long, goes on when the broker is back, and says that',
      },
    ],
  },
  {
    promise:
      'a start on Kafka feeds, trains, serves and evaluates, and its restart finds all again',
    was: '179,702 ratings, as npm start makes them; now 20,000: those of npm start are in test/system/cli/quickstart.test.ts, on the embedded log',
    now: [
      {
        file: `${SYSTEM}/kafka/cli.test.ts`,
        test: 'feeds, trains, serves and evaluates on Kafka, and finds everything again after a restart',
      },
      {
        file: `${SYSTEM}/cli/quickstart.test.ts`,
        test: 'trains, serves and evaluates generated ratings, and reuses all of it at the next start',
      },
    ],
  },
  {
    promise: 'slots in worker threads count each record once although threads are killed',
    was: '60,000 records in each partition and five ways; now 30,000 with as many kills, and every second way by the seed, and all',
    now: [
      {
        file: `${SYSTEM}/runtime/workers.test.ts`,
        test: 'count every record once although threads are killed, %s',
      },
    ],
  },
  {
    promise:
      'a job says within 5 s that it waits for a service, and why, again with growing pauses',
    was: 'test/connectors/kafka/client/broker-connections.test.ts, of brokers of Kafka alone',
    now: [
      {
        file: 'test/core/lifetime/outage.test.ts',
        test: 'is said within 5 s with the address and the cause, and again with growing pauses',
      },
    ],
  },
  {
    promise: 'owners with thousands of items do not hold up one with a single item',
    was: 'test/serving/catalog/fair-queue.test.ts',
    now: [
      {
        file: 'test/core/lifetime/fair-queue.test.ts',
        test: 'serves its owners in turn and keeps the order of each',
      },
    ],
  },
  {
    promise: 'a frame must become whole in time, however its bytes come',
    was: 'test/serving/server/held-frame.test.ts, 30 s for frames of more than 128 KiB; now 10 s for every frame',
    now: [
      {
        file: 'test/serving/server/held-frame.test.ts',
        test: 'must be whole in 10 s, however its bytes come',
      },
    ],
  },
  {
    promise: 'each page of the dashboard is right in light, in dark and on a phone',
    was: 'all pages in all three; now every second page by the seed in one of them, from page to page another one (CI has all pages in two in each sixth commit), and all in all three',
    now: [
      {
        file: `${SYSTEM}/dashboard/pages.test.ts`,
        test: 'shows %s of running jobs in its looks, without errors, and accessible',
      },
    ],
  },
  {
    promise: 'each page of Flink’s own dashboard shows a running job',
    was: 'all pages; now every second one of each commit, and all',
    now: [
      {
        file: `${SYSTEM}/jobmanager/flink-dashboard.test.ts`,
        test: 'shows %s of a running job without an error',
      },
    ],
  },
  {
    promise: 'each tab of a job is shown without errors, and accessible',
    was: 'the tabs of three jobs; now those of the one that learns and of one of the others, by the seed, and of all three',
    now: [
      {
        file: `${SYSTEM}/dashboard/pages.test.ts`,
        test: 'shows every tab of the job "%s", without errors, and accessible',
      },
    ],
  },
  {
    promise: 'the package works under each Node that is supported',
    was: 'four versions beside that of the tests; now two of them by the seed, one of the oldest and the newest, and all',
    now: [
      {
        file: `${SYSTEM}/cli/package.test.ts`,
        test: 'has help, a quickstart, the created project and a job that clients ask under Node %s, with RocksDB',
      },
      {
        file: `${SYSTEM}/cli/package.test.ts`,
        test: 'runs the project that npm create makes under Node %s: test, job, query',
      },
    ],
  },
  {
    promise:
      'a job that was frozen for longer than the timeout of its transactions goes on, and writes each result once',
    was: 'two freezes; now one, and two',
    now: [
      {
        file: `${SYSTEM}/kafka/outages/aborted-transactions.test.ts`,
        test: 'restarts by itself, and writes every result once, when it was frozen for longer than the timeout',
      },
    ],
  },
  {
    promise: 'training on a GPU gives the rows of the CPU, and chains go on from one to the other',
    was: 'both kinds of feedback and both ways; now one of each by the seed, and both',
    now: [
      {
        file: `${SYSTEM}/training/gpu-training.test.ts`,
        test: 'gives the rows of the CPU: %s',
      },
      {
        file: `${SYSTEM}/training/gpu-bmf.test.ts`,
        test: 'continues a chain of the CPU, and the CPU one of the GPU',
      },
    ],
  },
  {
    promise: 'commands that a start of npm prints work as they are printed',
    was: 'four commands; now two by the seed, and four',
    now: [
      {
        file: `${SYSTEM}/cli/quickstart.test.ts`,
        test: 'prints commands that work as they are printed',
      },
    ],
  },
  {
    promise: 'Ctrl-C and SIGTERM end every verb',
    was: 'every verb that waits or works; now every fourth one by the seed, with one of the signals, and all',
    now: [
      {
        file: `${SYSTEM}/cli/interruption.test.ts`,
        test: '$signal ends "$verb" that waits for an answer',
      },
      {
        file: `${SYSTEM}/cli/interruption.test.ts`,
        test: '$signal ends "$verb" that waits for a broker',
      },
      { file: `${SYSTEM}/cli/interruption.test.ts`, test: '$signal ends "$verb" at work' },
    ],
  },
  {
    promise:
      'the quickstart reads each form of MovieLens, and its loop runs at once and after a stop',
    was: 'all of them on the embedded log and on Kafka; now a form and one of the two loops by the seed, on Kafka the other one, and all',
    now: [
      { file: `${SYSTEM}/cli/quickstart.test.ts`, test: 'reads a %s' },
      {
        file: `${SYSTEM}/cli/quickstart.test.ts`,
        test: 'learns, detects a drift, retrains, promotes and rolls back, once',
      },
      {
        file: `${SYSTEM}/cli/quickstart.test.ts`,
        test: 'stops cleanly at Ctrl-C while it learns, and continues there at the next start',
      },
      {
        file: `${SYSTEM}/kafka/cli.test.ts`,
        test: 'learns, detects a drift, retrains, promotes and rolls back on Kafka',
      },
      {
        file: `${SYSTEM}/kafka/cli.test.ts`,
        test: 'continues the loop after SIGKILL, with the ratings that it had streamed',
      },
    ],
  },
  {
    promise:
      'a learner begins after what its version was trained on, on the embedded log and on Kafka',
    was: 'all tests on both; now every second one on Kafka, by the seed, and the others on the embedded log, and all on both',
    now: [
      {
        file: `${SYSTEM}/versions/trained-on-file.ts`,
        test: 'ratings of the training file are in the topic, too: with the defaults only the later ones are learned',
      },
      {
        file: `${SYSTEM}/versions/trained-on-file.ts`,
        test: 'examples of the training file are in the topic, too: only the later ones are learned',
      },
    ],
  },
  {
    promise: 'each way to end a job that learns writes back what it has learned',
    was: 'all ways; now every second one by the seed, and all',
    now: [
      {
        file: `${SYSTEM}/write-back/ends.test.ts`,
        test: '%s writes back what the job has learned',
      },
    ],
  },
  {
    promise: 'each example prints what its README shows',
    was: 'all examples; now every second one by the seed, and all',
    now: [{ file: `${SYSTEM}/cli/examples.test.ts`, test: '%s prints what its README shows' }],
  },
  {
    promise: 'typed state far above its budget keeps 200 MB of values with 16 MB of memory',
    was: 'on RocksDB and on LevelDB; now on one of them by the seed, and on both',
    now: [
      {
        file: `${SYSTEM}/state/keyed-state-budget.test.ts`,
        test: 'keeps 200 MB of values with 16 MB of memory',
      },
    ],
  },
  {
    promise: 'each compression of Java is read',
    was: 'all five, each with a JVM; now every second one by the seed, and all',
    now: [{ file: `${SYSTEM}/kafka/source.test.ts`, test: 'of Java is read (%s)' }],
  },
  {
    promise: 'sinks and sources on three brokers lose and repeat nothing when a leader is killed',
    was: 'both guarantees; now one by the seed, and both',
    now: [
      {
        file: `${SYSTEM}/kafka/failover.test.ts`,
        test: 'loses and repeats nothing when the leader is killed and restarted',
      },
    ],
  },
  {
    promise: 'the session of the guide on clusters runs on the embedded log and on Kafka',
    was: 'both; now one by the seed, and both',
    now: [
      {
        file: `${SYSTEM}/jobmanager/guide.test.ts`,
        test: 'docs/guide/cluster.md: its commands run on %s, one after the other',
      },
    ],
  },
  {
    promise: 'each rule follows a promotion to rows of another layout, and the way back',
    was: 'four rules; now every second one by the seed, and all four',
    now: [
      {
        file: `${SYSTEM}/training/learner-follows.test.ts`,
        test: '%s follows promotions to rows of another layout and of another length, and the way back',
      },
    ],
  },
  {
    promise: 'random streams in windows give what a plain computation gives',
    was: 'test/streams/campaign.test.ts, beside the other kinds of streams; now alone, and of its 70,000 cases CI runs 15,000; 100,000 of all kinds in npm run verify -- --campaign streams',
    now: [{ file: 'test/streams/campaign.test.ts', test: 'in windows' }],
  },
  {
    promise: 'random joins, timers and jobs give what a plain computation gives',
    was: 'test/streams/campaign.test.ts, beside the windows; CI runs half of the cases of npm run verify',
    now: [{ file: 'test/streams/jobs-campaign.test.ts', test: 'in %s' }],
  },
  {
    promise: 'a good client is answered beside hostile ones at a door',
    was: 'three attacks on one door, and four; now one, four, and two in CI, each on any door; all in npm run verify -- --campaign hostile',
    now: [
      {
        file: `${SYSTEM}/hostile/doors.test.ts`,
        test: 'a good client is answered beside hostile ones at a door, and memory comes back',
      },
    ],
  },
  {
    promise: 'no decoder crashes, hangs or keeps memory on mutated bytes',
    was: 'test/system/hostile/doors.test.ts, which runs alone; now beside others, as it measures its own process only',
    now: [
      {
        file: `${SYSTEM}/hostile/decoders.test.ts`,
        test: 'no decoder crashes, hangs or keeps memory on mutated bytes',
      },
    ],
  },
  {
    promise: 'a SIGTERM of a job that is held back is said at once',
    was: 'within 2 s, where the last checkpoint may take 4 s; now by the times of its lines: seconds before it is given up, which is after 8 s',
    now: [
      {
        file: `${SYSTEM}/runtime/held-back.test.ts`,
        test: 'SIGTERM of a job that is held back says so at once',
      },
    ],
  },
  {
    promise:
      'a learner of a version that does not say what it was trained on learns all that is there, or what comes, and says so once',
    was: 'test/system/training/learner-follows.test.ts, within the process of the test; now from the command line, also on Kafka',
    now: [
      {
        file: `${SYSTEM}/versions/trained-on-file.ts`,
        test: 'a learner of a version that does not say what it was trained on learns from the %s of the records that are there, and says so once',
      },
    ],
  },
  {
    promise: 'the alert on slow queries ends when queries are quick again',
    was: 'test/system/monitoring/alerts.test.ts, which waited for the end of the window of one to two minutes; now most queries of the window are quick, and a manual clock moves the window',
    now: [
      {
        file: `${SYSTEM}/monitoring/alerts.test.ts`,
        test: 'fires for slow queries while they wait for a position that does not come, and ends',
      },
      {
        file: 'test/core/metrics.test.ts',
        test: 'gives percentiles of the last one to two minutes, and the number and sum of all',
      },
    ],
  },
  {
    promise: 'the alert on drift ends an hour after the last alarm',
    was: 'test/system/monitoring/model-alerts.test.ts, with 80 s in the place of the hour; now with 20 s, and the hour in the rule tests of Prometheus',
    now: [
      {
        file: `${SYSTEM}/monitoring/model-alerts.test.ts`,
        test: 'fires for ratings of which learning makes predictions worse, and for the change of the error, and ends',
      },
      {
        file: `${SYSTEM}/monitoring/prometheus.test.ts`,
        test: 'are valid, and fire on what they are for and on nothing else',
      },
    ],
  },
  {
    promise: 'requests that fail while the job is away fire an alert at the gateway',
    was: 'a test of its own, which killed the job once more',
    now: [
      {
        file: `${SYSTEM}/monitoring/alerts.test.ts`,
        test: 'fires for a job that was killed, at its port and at a gateway whose requests fail, and ends when it is back',
      },
    ],
  },
  {
    promise: 'a process that is started again and again fires an alert',
    was: 'a process of a job, started four times; now a JobManager, until the alert fires',
    now: [
      {
        file: `${SYSTEM}/monitoring/alerts.test.ts`,
        test: 'fires for a process that is started again and again, and ends',
      },
    ],
  },
]
