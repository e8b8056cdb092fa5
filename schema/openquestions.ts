/**
 * What the API's document leaves open about the total of an order, and what shopsync does: each is a row in the
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
    answer: 'Percent: 8.25 means 8.25 %; with `fraction`, 0.0825 means the same.',
    setting: 'report.taxRates',
  },
  {
    question: 'Rounding',
    answer: "Each line, each discount and each kind's tax once, half a cent away from zero.",
  },
  {
    question: 'A discount where some lines are taxable and others not',
    answer: 'It is on both, in proportion.',
  },
  {
    question: 'A discount beyond its gross',
    answer: 'It counts as it is sent; `discount_exceeds_gross` says so.',
  },
  {
    question: 'Both a discount in cents and a percentage',
    answer: 'The cents count, also where they are 0.',
  },
  {
    question: 'No supply fee: it is "computed from the settings of the shop", which the API does not show',
    answer:
      'Where `supply_fee_cents` is null, fee, parts tax, total and balance are unknown; `supply_fee_unknown` says so.',
  },
  {
    question: 'Hours, a quantity, a rate or a price that is missing',
    answer:
      'The line is worth 0 and counts in `lines_without_price`; the total is unknown. Nothing of anything (zero hours, a zero quantity) is worth nothing, and known.',
  },
  {
    question: 'A cost that is missing',
    answer: 'It counts in `lines_without_cost`; the gross profit is unknown.',
  },
  {
    question: 'A taxable line whose worth is unknown',
    answer: 'The tax of its kind is unknown.',
  },
  {
    question: 'A tax rate that is missing',
    answer: 'The tax is unknown where there is something to tax, and 0 where there is nothing.',
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
    answer: 'They count with the sign that they are sent with.',
  },
  {
    question: 'A payment whose amount is missing',
    answer: 'It is counted in `payments`; `paid_cents` is the sum of the others.',
  },
  {
    question: 'Services that are not completed',
    answer: 'They count.',
  },
  {
    question: 'Services of a fixed price: the document has none',
    answer:
      'Where a `fixed_price_cents` arrives, `fixed_price_ignored` says that the formula does not know it.',
  },
  {
    question: 'Absurd values, such as a barcode in a quantity',
    answer:
      'Hours, quantities, percentages and rates of 10⁹ and more, amounts and lines of 9 × 10⁹ cents and more count as missing; where only the line is absurd, its hours still count. So do taxes, and percentages of a discount, that come to 9 × 10¹⁵ cents and more.',
  },
  {
    question: 'Values and items in quarantine',
    answer: 'They are in no sum; `lines_in_quarantine` counts them, and above 0 the total is unknown.',
  },
  {
    question: "The time zone of a shop's days",
    answer:
      'The one that the API sends for the shop (`time_zone`), else that of `report.timeZone`; one that is given by hand goes before both. An instant outside of the calendar (1990 to ten years from now) has no day.',
    setting: 'report.shopTimeZones',
  },
  {
    question: 'Names of shops, vehicles, statuses and vendors: the document shows none',
    answer: 'The fields that the setting names, else `shop 3`, `vehicle 17`.',
    setting: 'report.names',
  },
]
