/** Calls that are not walked, with the reason. */
export const LEFT_OUT: readonly (readonly [reason: string, calls: RegExp])[] = [
  [
    'a program gets these objects from Weir',
    /^new (Histogram|DataStream|KeyedStream|.*ConnectedStreams?|BroadcastStream|DataStreamSink|HarnessStates|(Grouped)?Table|Feature|FeatureStream|(All)?WindowedStream|PatternStream|.*StateTransformation|EmbeddedModel|EmbeddedLogProducer|CollectedResults|JobExecution|MetricGroup|AlsModel|LinearModel|RetrainProcess|LiveErrorWatch|JobModels)$/,
  ],
  [
    'Weir calls them, on what a program gives it',
    /^(.*Operator|.*Gate|.*Coordinator|.*Function|.*Source|adwin|pageHinkley|driftMonitor|prequentialError)\.(open|processElement\d?|processWatermark|onProcessingTime|prepareSnapshot|checkpointCompleted|handleEvent|endInput|live|start|markerOf|learnedBesides|learningBegan|whenApplied|setDesired|setPhase|phaseOf|discover|subtaskOf|write|join|restoreEarlier)$|Accumulator\.merge$|(Counter|Maximum|Minimum)\.merge$|^listAccumulator\.|^topicRecordDeserializer$/,
  ],
  [
    'JavaScript, or the state of the class, defines them',
    /^(WeirError|FormatNotReady)\.(captureStackTrace|prepareStackTrace)$|^new WeirError$/,
  ],
  [
    'parts between Weir and a learner of one\u2019s own, which TypeScript checks',
    /^(liveErrorWatch|retrainProcess|deltaDeduplicator|refusals|resumeOffsets|begunVersions|[mM]odelDeltaBuffer|rowMoments|RowMoments|learnableRowSerializer|rowUpdateSerializer|weightUpdateSerializer|exampleRecordReader|slotWeights|stateVersion|slotRowReader|stateCatalog|rowTableReader|varianceRows)\.|^new (VarianceRows|Refusals|ResumeOffsets|BegunVersions|ModelDeltaBuffer|RowMoments|StateVersion|SlotRowReader|RowTableReader)$|^jobExecution\.(profile|keyGroupRecords|onFinishing|takeCheckpoint|failed|warned)$|Operator\.(fireDue|onEventTimer|onProcessingTimer)$|^(decodeOrigin|requireSameTopic|keyOfEveryGroup|plainNumber|latin1Of|alsVersionMetadata|itemRows|userRows|keyBytesOf|valueBytesOf|deltaShape|learnerDeltas|ruleOfKind|withVersionFacts|publishedMoments|ratingNoise|idOfKeyBytes|isMeanKeyBytes|kindOfKeyBytes|writeKeySuffix|attemptTagOf|decodeLinearDelta|dropSums|foldLinearStep|ftrlFold|encodeLinearDelta|joinedAlarms|largestSquaredError|isLearningStopped|stopsUntil|inSlices|isRefused|placeOfRange|rangesHere|keyLengthWithoutVersion|versionOfKeyBytes|blockProducts|blocksOf|weirClient\.predictPairs)$/,
  ],
  [
    'a record has a value of any kind; job-harness.test.ts has the forms of events that are refused',
    /^jobHarness\.feed$/,
  ],
  [
    // What is called for each record and is checked for one comparison: `operators/process/calls-of-each-record.test.ts`.
    'a loop calls them for each record or byte, and a check would cost as much as the work',
    /^(new )?[bB]yte(Reader|Writer)|^(counter|sparseTableBuilder|ratingsSpill|generatedWeights|linearExamples|linearModel|servedClassifierQuality|onlineLinearRule|adwin|pageHinkley|driftMonitor|prequentialError)\.|^(embeddedLogProducer\.sendRecord|histogram\.observe|decodeFactors|encodeFactors|predictRating|clipRating|formatTextRow|scoreOf|keyGroupOf)$/,
  ],
]
