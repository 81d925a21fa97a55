"""Writes the folders beside this file with PySpark: python make.py. Needs the packages pyspark and numpy, and Java 17."""
import os, shutil
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.linalg import Vectors
from pyspark.ml.recommendation import ALS
from pyspark.sql import SparkSession

HERE = os.path.dirname(os.path.abspath(__file__))
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "2").getOrCreate())


def save(model, name):
    place = os.path.join(HERE, name)
    shutil.rmtree(place, ignore_errors=True)
    model.save("file://" + place)
    for folder, _, files in os.walk(place):
        for file in files:
            if file.endswith(".crc") or file == "_SUCCESS":
                os.remove(os.path.join(folder, file))
    return model


ratings = spark.createDataFrame(
    [(user, item, float(1 + (user * item) % 5)) for user in range(1, 8) for item in range(10, 15)
     if (user + item) % 4 != 0], ["user", "item", "rating"])
als = save(ALS(rank=3, maxIter=3, numUserBlocks=2, numItemBlocks=1, seed=7).fit(ratings), "als")
for side in (als.userFactors, als.itemFactors):
    for row in side.orderBy("id").collect():
        print(row["id"], list(row["features"]))

examples = spark.createDataFrame(
    [(float((n * n + n) % 3 == 0), Vectors.sparse(6, [n % 6], [1.0 + n % 3])) for n in range(24)],
    ["label", "features"])
for name, model in (("svc", save(LinearSVC(regParam=0.01, maxIter=20).fit(examples), "svc")),
                    ("logistic", save(LogisticRegression(regParam=0.01, maxIter=20, threshold=0.3).fit(examples), "logistic"))):
    print(name, model.coefficients, model.intercept)
lasso = save(LogisticRegression(regParam=0.05, elasticNetParam=1.0, maxIter=20).fit(examples), "lasso")
print("lasso", lasso.coefficients, lasso.intercept)
three = spark.createDataFrame(
    [(float(n % 3), Vectors.sparse(6, [n % 6], [1.0 + n % 2])) for n in range(24)], ["label", "features"])
classes = save(LogisticRegression(regParam=0.01, maxIter=20, family="multinomial").fit(three), "classes")
print("classes", classes.coefficientMatrix, classes.interceptVector)
spark.stop()
