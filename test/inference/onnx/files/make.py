# Writes the files of this folder: models of scikit-learn and LightGBM as their converters export them.
#   pip install scikit-learn skl2onnx lightgbm onnxmltools pandas && python make.py
import numpy as np, warnings
warnings.filterwarnings('ignore')
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, LinearRegression
from sklearn.preprocessing import StandardScaler, OneHotEncoder
from sklearn.pipeline import make_pipeline
from sklearn.compose import make_column_transformer
from sklearn.svm import SVC
from sklearn.neighbors import KNeighborsClassifier
from sklearn.cluster import KMeans
from sklearn.neural_network import MLPClassifier
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
X,y=load_iris(return_X_y=True); X=X.astype(np.float32)
import os
d=os.path.dirname(os.path.abspath(__file__))+'/'
def save(name, model, **o):
    m=to_onnx(model, X[:1], options={id(model):o} if o else None)
    open(d+name+'.onnx','wb').write(m.SerializeToString())
save('sk-forest', RandomForestClassifier(10,random_state=0).fit(X,y), zipmap=False)
save('sk-zipmap', LogisticRegression().fit(X,y))
save('sk-pipe', make_pipeline(StandardScaler(),LogisticRegression()).fit(X,y))
save('sk-linreg', LinearRegression().fit(X,y))
save('sk-gbr', GradientBoostingRegressor(n_estimators=10).fit(X,y))
save('sk-svc', SVC(probability=True).fit(X,y), zipmap=False)
save('sk-knn', KNeighborsClassifier().fit(X,y), zipmap=False)
save('sk-kmeans', KMeans(3,n_init=1).fit(X))
save('sk-mlp', MLPClassifier((8,),max_iter=50).fit(X,y), zipmap=False)
import lightgbm as lgb
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType as F
b=lgb.LGBMClassifier(n_estimators=10,verbose=-1).fit(X,y)
for z in (True,False):
    m=convert_lightgbm(b, initial_types=[('x',F([None,4]))], zipmap=z)
    open(d+f'lgbm-zip{int(z)}.onnx','wb').write(m.SerializeToString())
b=lgb.LGBMRegressor(n_estimators=10,verbose=-1).fit(X,y)
m=convert_lightgbm(b, initial_types=[('x',F([None,4]))])
open(d+'lgbm-reg.onnx','wb').write(m.SerializeToString())
import pandas
P=pandas.DataFrame({'age': np.array([20,31,44,58,63,29],np.float32), 'city': ['Bonn','Rome','Rome','Oslo','Bonn','Oslo']})
c=make_column_transformer((StandardScaler(),['age']),(OneHotEncoder(handle_unknown='ignore'),['city']))
m=to_onnx(make_pipeline(c,LogisticRegression()).fit(P,[0,0,1,1,1,0]),
    initial_types=[('age',FloatTensorType([None,1])),('city',StringTensorType([None,1]))], options={'zipmap':False})
open(d+'sk-columns.onnx','wb').write(m.SerializeToString())
