/**
 * Names, words and places of the generated shops. Used by the makers of this folder.
 * Lists are texts that are split on '|': one name a line would fill pages.
 */
const words = (text: string): readonly string[] => text.split('|')

export const FIRST_NAMES = words(
  'James|Mary|Robert|Patricia|John|Jennifer|Michael|Linda|David|Elizabeth|William|Barbara|Richard|Susan|Joseph|Jessica|Thomas|Sarah|Carlos|Karen|Daniel|Nancy|Matthew|Lisa|Anthony|Betty|Mark|Sandra|Donald|Ashley|Steven|Kimberly|Andrew|Emily|Paul|Donna|Joshua|Michelle|Kenneth|Carol|Kevin|Amanda|Brian|Melissa|Luis|Deborah|Timothy|Stephanie|Jorge|Rebecca|José|María|Zoë|Renée|Søren|Łukasz|Nguyễn|Anaïs|Björn|Chloé|Iván|Mónica|Raúl|Sofía',
)

export const LAST_NAMES = words(
  'Smith|Johnson|Williams|Brown|Jones|Garcia|Miller|Davis|Rodriguez|Martinez|Hernandez|Lopez|Gonzalez|Wilson|Anderson|Thomas|Taylor|Moore|Jackson|Martin|Lee|Perez|Thompson|White|Harris|Sanchez|Clark|Ramirez|Lewis|Robinson|Walker|Young|Allen|King|Wright|Scott|Torres|Nguyen|Hill|Flores|Green|Adams|Nelson|Baker|Hall|Rivera|Campbell|Mitchell|Carter|Roberts|O’Brien|Muñoz|Peña|García|Łukaszewicz|Jørgensen|Müller|Lefèvre|Nuñez|Šimić|D’Angelo|van der Berg',
)

export const STREETS = words(
  'Main St|Oak Ave|Maple Dr|Cedar Ln|Elm St|Washington Blvd|Lake Rd|Hill St|Sunset Dr|2nd St|Park Ave|Pine St|River Rd|Highland Ave|Church St|County Rd 12|Mill Creek Way|Old Post Rd',
)

/** `zone` is the IANA name of the time zone. */
type CityLine = readonly [
  name: string,
  state: string,
  zip: string,
  area: string,
  zone: string,
  partTax: number,
]

const CITY_LINES: readonly CityLine[] = [
  ['Austin', 'TX', '787', '512', 'America/Chicago', 8.25],
  ['Round Rock', 'TX', '786', '737', 'America/Chicago', 8.25],
  ['Madison', 'WI', '537', '608', 'America/Chicago', 5.5],
  ['Columbus', 'OH', '432', '614', 'America/New_York', 7.5],
  ['Dayton', 'OH', '454', '937', 'America/New_York', 7.5],
  ['Raleigh', 'NC', '276', '919', 'America/New_York', 7.25],
  ['Denver', 'CO', '802', '303', 'America/Denver', 8.81],
  ['Boulder', 'CO', '803', '720', 'America/Denver', 9.05],
  ['Minneapolis', 'MN', '554', '612', 'America/Chicago', 8.53],
  ['Buffalo', 'NY', '142', '716', 'America/New_York', 8.75],
  ['Nashville', 'TN', '372', '615', 'America/Chicago', 9.25],
  ['Omaha', 'NE', '681', '402', 'America/Chicago', 7],
]

export type City = (typeof CITIES)[number]

export const CITIES = CITY_LINES.map(([name, state, zip, area, zone, partTax]) => ({
  name,
  state,
  zip,
  area,
  zone,
  partTax,
}))

export const BUSINESSES = words(
  'Lakeside Auto Care|Northgate Motors|Brothers’ Garage|Cedar Creek Automotive|Summit Tire & Service|Pioneer Auto Repair|Riverside Car Clinic|Union Street Garage|Blue Ridge Automotive|Eastside Auto Works',
)

export type CarModel = ReturnType<typeof model>

/** `vin` is the first eight characters of the VIN. */
const model = (make: string, name: string, engines: string, vin: string, from = 2006) => ({
  make,
  model: name,
  engines: words(engines),
  vin,
  from,
})

export const MODELS: readonly CarModel[] = [
  model('Ford', 'F-150', '3.5L V6 Turbo|5.0L V8|2.7L V6 Turbo', '1FTEW1E5'),
  model('Chevrolet', 'Silverado 1500', '5.3L V8|6.2L V8|4.3L V6', '3GCUYDED'),
  model('Ram', '1500', '5.7L V8|3.6L V6', '1C6SRFFT', 2011),
  model('Toyota', 'Camry', '2.5L L4|3.5L V6', '4T1B11HK'),
  model('Toyota', 'RAV4', '2.5L L4|2.5L L4 Hybrid', '2T3P1RFV'),
  model('Toyota', 'Tacoma', '3.5L V6|2.7L L4', '3TMCZ5AN'),
  model('Honda', 'Civic', '1.5L L4 Turbo|2.0L L4', '2HGFC2F6'),
  model('Honda', 'CR-V', '1.5L L4 Turbo|2.4L L4', '7FARW2H5'),
  model('Honda', 'Odyssey', '3.5L V6', '5FNRL6H7'),
  model('Nissan', 'Altima', '2.5L L4|3.5L V6', '1N4BL4BV'),
  model('Nissan', 'Rogue', '2.5L L4', '5N1AT2MT', 2008),
  model('Subaru', 'Outback', '2.5L H4|3.6L H6', '4S4BSANC'),
  model('Hyundai', 'Elantra', '2.0L L4|1.8L L4', '5NPD84LF'),
  model('Kia', 'Sorento', '2.4L L4|3.3L V6', '5XYPG4A3'),
  model('Jeep', 'Grand Cherokee', '3.6L V6|5.7L V8', '1C4RJFBG'),
  model('Volkswagen', 'Jetta', '1.4L L4 Turbo|2.0L L4', '3VWC57BU'),
  model('BMW', '328i', '2.0L L4 Turbo|3.0L L6', 'WBA3A5C5', 2007),
  model('Mazda', 'CX-5', '2.5L L4', 'JM3KFBCM', 2012),
  model('GMC', 'Sierra 1500', '5.3L V8|6.2L V8', '3GTU2NEC'),
  model('Citroën', '2CV', '0.6L H2', 'VF7AZKA0', 2006),
]

export const COLORS = words('white|black|silver|gray|red|blue|green|beige')

export const VENDORS = words(
  'Parts Depot|Metro Auto Supply|Tire Warehouse|Genuine Import Parts|Dealer Parts Counter|Midstate Battery|Core & Reman Co.|Fluids Direct',
)

export const STATUSES: readonly (readonly [string, string])[] = [
  ['Waiting for approval', '#f0ad4e'],
  ['Waiting for parts', '#d9534f'],
  ['Diagnosing', '#5bc0de'],
  ['In the bay', '#0275d8'],
  ['Quality check', '#6f42c1'],
  ['Ready for pick-up', '#5cb85c'],
]

export const LABELS: readonly (readonly [string, string])[] = [
  ['Waiter', '#e74c3c'],
  ['Fleet', '#2980b9'],
  ['Comeback', '#8e44ad'],
  ['Tow-in', '#f39c12'],
  ['Loaner out', '#16a085'],
]

export const SOURCES = words('Repeat|Referral|Google|Drive-by|Fleet|Mailer|Yelp')

export const NOTES = words(
  'Customer called, wants to be rung before any extra work.|Left voicemail about the estimate.|Approved by phone.|Parts arrive tomorrow morning.|Customer waits in the lounge.|Key is in the night drop box.|Noise comes back only when cold.|Drove 12 miles, could not reproduce.|Wheel lock key in glove box.|Asked for the old parts back.|Text when ready – no calls please.|Check engine light off after reset; recheck in 500 mi.',
)

export const DETAILS = words(
  'Oil change and general check|Squeaks when braking|Check engine light on|Vibration at 60 mph|A/C blows warm|Hard to start in the morning|Annual service|Pulls to the right|Coolant smell in the cabin|Rattle from the rear|New tires before the winter|Battery light came on',
)
