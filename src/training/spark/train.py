"""Trains a model with Spark's MLlib, for `weir train ... --engine spark`.

Its only argument is what to do, as JSON (`SparkTask` in run.ts). It writes the model and, last, the facts of the training
below the folder `out`. A line "weir: ..." on standard error says what is wrong with the data; the exit status is then 3.
"""
import json
import math
import sys

from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.recommendation import ALS
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

# Readers decode a row group at a time.
ROW_GROUP_BYTES = 8 * 2**20


def fail(message):
    print("weir: " + message, file=sys.stderr)
    sys.exit(3)


def stage(name):
    print("weir stage " + name, flush=True)


def write_facts(spark, task, facts):
    """One line of JSON, which is there only when all else is."""
    line = spark.range(0, 1, 1, 1).select(F.lit(json.dumps(facts)))
    line.write.text(task["out"] + "/facts")


def table_of(spark, task):
    """The columns of the ratings, c0, c1 and so on."""
    place = task["ratings"]
    if task["format"] == "parquet":
        table = spark.read.parquet(place)
    elif task["separator"] == " ":
        lines = spark.read.text(place).filter(F.trim("value") != "")
        parts = F.split(F.trim("value"), r"\s+")
        width = 1 + max(task["columns"].values())
        table = lines.select(*[F.get(parts, i).alias("c%d" % i) for i in range(width)])
        if task["header"]:
            first = table.first()
            table = table.filter(~F.struct(*table.columns).eqNullSafe(F.struct(*[F.lit(v) for v in first])))
    else:
        quote = '"' if task["separator"] == "," else ""
        table = spark.read.csv(place, sep=task["separator"], header=task["header"], quote=quote, escape=quote)
    return table.toDF(*["c%d" % i for i in range(len(table.columns))])


def ratings_of(spark, task):
    """The columns user, item (texts) and rating (double; null where there is none)."""
    table, columns = table_of(spark, task), task["columns"]
    types = dict(table.dtypes)
    for field in ("user", "item"):
        if types["c%d" % columns[field]] in ("double", "float"):
            fail("the column of the %s has numbers with fractions, which are no ids; write it as whole numbers or texts" % field)
    text = lambda field: F.trim(F.col("c%d" % columns[field]).cast("string"))
    rating = F.col("c%d" % columns["rating"]).cast("double") if "rating" in columns else F.lit(1.0)
    return table.select(text("user").alias("user"), text("item").alias("item"), rating.alias("rating"))


def numbered(ratings, side, place, spark):
    """Each id of a side with its number of ratings, and a number from 0, as ALS wants one. Written, so that no task that
    runs again gives other numbers."""
    ids = ratings.groupBy(F.col(side).alias("name")).agg(F.count("*").alias("ratings"))
    number = F.row_number().over(Window.orderBy("name")) - 1
    ids.withColumn("number", number.cast("int")).write.parquet(place)
    return spark.read.parquet(place)


def train_als(spark, task):
    out = task["out"]
    stage("reading")
    every = ratings_of(spark, task)
    is_good = (F.length("user") > 0) & (F.length("item") > 0) & F.col("rating").isNotNull()
    is_good = F.coalesce(is_good & ~F.isnan("rating") & (F.abs("rating") < math.inf), F.lit(False))
    ratings = every.filter(is_good)
    if task["implicit"]:
        ratings = ratings.groupBy("user", "item").agg(F.sum("rating").alias("rating"))
    lines, good = every.agg(F.count("*"), F.count(F.when(is_good, 1))).first()
    if good == 0:
        fail("%s has no ratings" % task["ratings"])
    if good < lines and not task["countBadLines"]:
        fail("%d of %d lines of %s have no user, item and number; --bad-lines count leaves them out" % (lines - good, lines, task["ratings"]))
    users = numbered(ratings, "user", out + "/ids/users", spark)
    items = numbered(ratings, "item", out + "/ids/items", spark)
    pick = lambda ids, side, to: ids.select(F.col("name").alias(side), F.col("number").alias(to))
    train = ratings.join(pick(users, "user", "u"), "user").join(pick(items, "item", "i"), "item")
    train = train.select("u", "i", F.col("rating").cast("float").alias("rating")).persist()
    count, least, most, mean = train.agg(F.count("*"), F.min("rating"), F.max("rating"), F.avg("rating")).first()
    stage("training")
    # Without checkpoints, each iteration would keep the plan of all before it.
    spark.sparkContext.setCheckpointDir(out + "/steps")
    blocks = max(10, spark.sparkContext.defaultParallelism)
    if spark.sparkContext.master.startswith("local"):
        blocks = spark.sparkContext.defaultParallelism
    als = ALS(rank=task["factors"], maxIter=task["iterations"], regParam=task["regularization"], seed=task["seed"],
              implicitPrefs=task["implicit"], alpha=task["alpha"], numUserBlocks=blocks, numItemBlocks=blocks,
              userCol="u", itemCol="i", ratingCol="rating")
    model = als.fit(train)
    stage("writing")
    for factors, ids, folder in ((model.userFactors, users, "userFactors"), (model.itemFactors, items, "itemFactors")):
        rows = factors.join(ids, factors["id"] == ids["number"])
        rows = rows.select(ids["name"].alias("id"), factors["features"], ids["ratings"].alias("ratings"))
        rows.write.option("parquet.block.size", ROW_GROUP_BYTES).parquet(out + "/" + folder)
    facts = {"ratings": count, "badLines": lines - good, "min": least, "max": most, "mean": mean}
    if not task["implicit"]:
        error = F.col("rating") - F.col("prediction")
        facts["trainRmse"] = model.transform(train).agg(F.sqrt(F.avg(error * error))).first()[0]
    write_facts(spark, task, facts)


def train_linear(spark, task):
    stage("reading")
    examples = spark.read.format("libsvm").load(task["examples"])
    labels = sorted(row[0] for row in examples.select("label").distinct().limit(3).collect())
    if len(labels) != 2:
        fail("%s has %s, and a model of two labels is trained" % (task["examples"], "one label" if len(labels) == 1 else "more than two labels" if labels else "no examples"))
    is_positive = F.col("label") == labels[1]
    table = examples.select(
        F.when(is_positive, 1.0).otherwise(0.0).alias("label"), "features",
        F.when(is_positive, float(task["positiveWeight"])).otherwise(1.0).alias("weight")).persist()
    count, positives, weight = table.agg(F.count("*"), F.sum("label"), F.sum("weight")).first()
    # 1/2 |w|^2 + l1 |w|_1 + C sum of losses is MLlib's objective times C times the sum of the weights.
    l1 = task["l1"]
    ridge = task["ridge"] if "ridge" in task else 1 / (task["cost"] * weight)
    given = dict(maxIter=task["iterations"], regParam=(1 + l1) * ridge, fitIntercept=task["intercept"],
                 standardization=task["standardization"], weightCol="weight")
    stage("training")
    if task["loss"] == "logistic":
        model = LogisticRegression(elasticNetParam=l1 / (1 + l1), **given).fit(table)
    else:
        model = LinearSVC(**given).fit(table)
    summary = model.summary if task["loss"] == "logistic" else model.summary()
    stage("writing")
    model.write().save(task["out"] + "/model")
    write_facts(spark, task, {
        "examples": count, "positives": positives, "positiveLabel": labels[1], "negativeLabel": labels[0],
        "features": model.numFeatures, "iterations": summary.totalIterations, "cost": 1 / (ridge * weight),
        "objective": summary.objectiveHistory[-1]})


def main():
    task = json.loads(sys.argv[1])
    spark = SparkSession.builder.getOrCreate()
    try:
        (train_als if task["kind"] == "als" else train_linear)(spark, task)
    finally:
        spark.stop()


main()
