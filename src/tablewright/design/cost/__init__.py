"""The cost of a design: capacity units, demand, monthly bills, hot keys, and metered runs.

plan_costs(design).cheapest.total          the lowest monthly bill, from the declared traffic
CapacityEstimate(design).of("book")        the units of one pattern or write
hot_keys(plan_costs(design))               partition keys with more traffic than a partition serves

capacity_estimate   units of each pattern and write
index_costs         the cost of an index: the size of its entries by their projection, and how often they are written
write_actions       the actions of a write: items, guards and counters, moves
demand              load per second, from declared or metered traffic
monthly_bill        the bill of each billing mode and table class
hot_keys            partition keys with too much traffic
size_sensitivity    the cost of other item sizes
prices              dated price lists
metered_run         the capacity that a program consumed
metered_heat        the capacity consumed at the moment, by second and by key, in bounded memory
cost_report, meter_report   reports of both
"""

from tablewright.design.cost.capacity_estimate import CapacityEstimate, Units
from tablewright.design.cost.cost_report import cost_blocks, cost_json, cost_report
from tablewright.design.cost.demand import BusyKey, Demand, Load, busiest_keys, declared, metered
from tablewright.design.cost.hot_keys import HotKey, hot_keys
from tablewright.design.cost.meter_report import run_json, run_report
from tablewright.design.cost.metered_heat import HeatOfKey, HeatOfSecond, MeteredHeat
from tablewright.design.cost.metered_run import (
    MeteredRun,
    PatternUse,
    RunError,
    metered_run,
    on_demand,
    read_run,
)
from tablewright.design.cost.monthly_bill import (
    MONTH_HOURS,
    Bill,
    BillLine,
    CostOptions,
    CostPlan,
    break_even,
    plan_costs,
)
from tablewright.design.cost.prices import Prices, PricesError, load_prices
from tablewright.design.cost.size_sensitivity import SizeCost, size_costs

__all__ = [
    "MONTH_HOURS",
    "Bill",
    "BillLine",
    "BusyKey",
    "CapacityEstimate",
    "CostOptions",
    "CostPlan",
    "Demand",
    "HeatOfKey",
    "HeatOfSecond",
    "HotKey",
    "Load",
    "MeteredHeat",
    "MeteredRun",
    "PatternUse",
    "Prices",
    "PricesError",
    "RunError",
    "SizeCost",
    "Units",
    "break_even",
    "busiest_keys",
    "cost_blocks",
    "cost_json",
    "cost_report",
    "declared",
    "hot_keys",
    "load_prices",
    "metered",
    "metered_run",
    "on_demand",
    "plan_costs",
    "read_run",
    "run_json",
    "run_report",
    "size_costs",
]
