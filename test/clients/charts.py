"""Asks an installed Superset for each metric of each dataset, as a chart does, and prints the values as one JSON document.

Called by superset.test.ts, in the environment of a Superset into which the archives were imported. With `own`, it first
gives the dataset `orders` a metric of the user's, and makes a dataset of the user's from SQL.
"""
import json
import sys
from decimal import Decimal

from superset.app import create_app

app = create_app()


def chart(dataset, metrics, time_range=None):
    """The one row of a chart without groups, over the dataset's main time column if a range is given."""
    from superset.commands.chart.data.get_data_command import ChartDataCommand
    from superset.common.query_context_factory import QueryContextFactory

    query = {"columns": [], "metrics": metrics, "row_limit": 10}
    if time_range:
        query |= {"granularity": dataset.main_dttm_col, "time_range": time_range}
    context = QueryContextFactory().create(
        datasource={"id": dataset.id, "type": "table"}, queries=[query], force=True)
    answer = ChartDataCommand(context).run()["queries"][0]
    if answer.get("error"):
        return {"error": answer["error"]}
    plain = lambda value: float(value) if isinstance(value, (Decimal, int, float)) else value
    return {name: plain(value) for name, value in (answer["data"][0] if answer["data"] else {}).items()}


def make_own(database, tables):
    from superset import db
    from superset.connectors.sqla.models import SqlaTable, SqlMetric

    orders = next(table for table in tables if table.table_name == "orders")
    orders.metrics.append(SqlMetric(metric_name="my_metric", expression="count(distinct advisor_key)"))
    mine = SqlaTable(table_name="my_orders", database=database, schema=orders.schema, sql="select * from orders")
    db.session.add(mine)
    db.session.flush()
    mine.fetch_metadata()
    mine.metrics.append(SqlMetric(metric_name="my_metric", expression="count(distinct advisor_key)"))
    db.session.commit()


def main():
    from superset import db, security_manager
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database
    from superset.utils.core import override_user

    seen = {}
    with override_user(security_manager.find_user("admin")):
        for database in db.session.query(Database).filter(Database.database_name.like("shopsync %")):
            tables = db.session.query(SqlaTable).filter_by(database_id=database.id).all()
            if "own" in sys.argv:
                make_own(database, tables)
            seen[database.backend] = {
                table.table_name: {
                    "day": table.main_dttm_col,
                    "all": chart(table, [metric.metric_name for metric in table.metrics]),
                    "month": chart(table, [metric.metric_name for metric in table.metrics], "2026-02-01 : 2026-03-01")
                    if table.table_name in ("orders", "orders_by_created_on", "shop_months") else {},
                }
                for table in tables
            }
    print("SEEN " + json.dumps(seen))


with app.app_context(), app.test_request_context():
    main()
