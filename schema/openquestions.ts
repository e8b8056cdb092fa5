/**
 * What the API documentation leaves open about the total of an order, and what shopsync does: each is a row in the
 * dictionary. schema/derived/bill.ts implements what it says here.
 */

export interface OpenQuestion {
  readonly question: string
  /** What shopsync does; columns and settings in backquotes. */
  readonly answer: string
  /** The configuration setting that selects another answer, if there is a choice. */
  readonly setting?: string
}

export const openQuestions: readonly OpenQuestion[] = [
  {
    question: 'Unit of the tax rates',
    answer: 'Percent: 8.25 means 8.25%. With `fraction`, 0.0825 means the same.',
    setting: 'report.taxRates',
  },
  {
    question: 'Rounding',
    answer: 'Each line, discount and tax is rounded once, half a cent away from zero.',
  },
  {
    question: 'A discount when only some lines are taxable',
    answer: 'It applies to both in proportion.',
  },
  {
    question: 'A discount larger than the amount it applies to',
    answer:
      'It takes all of it and no more; where labor or parts come to 0 or less, it takes nothing. `discount_exceeds_gross` is true. A discount below 0 (a surcharge) counts as sent.',
  },
  {
    question: 'Both a discount in cents and a percentage',
    answer: 'The cents count, even if they are 0.',
  },
  {
    question: 'No supply fee: it is "computed from the settings of the shop", which the API does not show',
    answer:
      'If `supply_fee_cents` is null, the fee, parts tax, total and balance are unknown, and `supply_fee_unknown` is true.',
  },
  {
    question: 'Missing hours, quantity, rate or price',
    answer:
      'The line counts as 0 and is counted in `lines_without_price`, and the total is unknown. Zero hours or a zero quantity is a known 0.',
  },
  {
    question: 'A missing cost',
    answer: 'The line is counted in `lines_without_cost`, and the gross profit is unknown.',
  },
  {
    question: 'A taxable line whose amount is unknown',
    answer: 'The tax on lines of its kind is unknown.',
  },
  {
    question: 'A missing tax rate',
    answer: 'The tax is unknown if there is something to tax, and 0 if there is nothing.',
  },
  {
    question: '`taxable` null',
    answer: 'On a line: it is taxable. On an order: its taxes are unknown.',
  },
  {
    question: 'An order that is not taxable',
    answer: 'Its four taxes are 0, whatever else is missing.',
  },
  {
    question: 'Refunds and returned cores',
    answer: 'They count with the sign the API sends.',
  },
  {
    question: 'A payment without an amount',
    answer: 'It is counted in `payments`, and `paid_cents` sums the others.',
  },
  {
    question: 'Services not marked completed',
    answer: 'They count.',
  },
  {
    question: "Services with a fixed price, which the API documentation doesn't show",
    answer: 'If a `fixed_price_cents` arrives, the formula ignores it, and `fixed_price_ignored` is true.',
  },
  {
    question: 'Out-of-range values, such as a barcode in a quantity',
    answer:
      'These count as missing: 10⁵ hours or more in a line, 10⁶ units or more, a unit price or cost of 10⁹ cents or more, a line or other amount of 9 × 10⁹ cents or more, and a percentage or rate of 10⁹ or more. The order is still in all sums, without that value. If only the line amount is out of range, its hours still count. Taxes and percentage discounts that come to 9 × 10¹⁵ cents or more count as missing too.',
  },
  {
    question: 'Values and items in quarantine',
    answer: 'They are in no sum. `lines_in_quarantine` counts them; if it is above 0, the total is unknown.',
  },
  {
    question: "The time zone of a shop's days",
    answer:
      'The one the API sends for the shop (`time_zone`), otherwise `report.timeZone`. One set by hand takes precedence over both. A time outside the calendar (1990 to ten years from now) has no day.',
    setting: 'report.shopTimeZones',
  },
  {
    question: "Names of shops, vehicles, statuses and vendors, which the API documentation doesn't show",
    answer: 'The fields named in the setting, otherwise `shop 3`, `vehicle 17`.',
    setting: 'report.names',
  },
]
