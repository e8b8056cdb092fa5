# What the file for Airflow uses of it, which only keeps what it is given; the file is read from standard input.
import json, sys, types
tasks = []
class BashOperator:
    def __init__(self, **task): tasks.append(task)
    @staticmethod
    def partial(**shared): return Mapped(shared)
class Mapped:
    def __init__(self, shared): self.shared = shared
    def expand(self, bash_command):
        tasks.extend({**self.shared, 'bash_command': one} for one in bash_command)
        return self
    def __rshift__(self, after): self.after = after
def dag(**settings): return lambda build: build
for name in ['airflow', 'airflow.sdk', 'airflow.providers', 'airflow.providers.standard',
    'airflow.providers.standard.operators', 'airflow.providers.standard.operators.bash']:
    sys.modules[name] = types.ModuleType(name)
sys.modules['airflow.sdk'].dag = dag
sys.modules['airflow.providers.standard.operators.bash'].BashOperator = BashOperator
exec(sys.stdin.read())
print(json.dumps(tasks, default=str))
