import { dialogCases, firstOfEachPage } from './dialog-cases.ts'
import { prepareDialogs, testDialog } from './dialog-walk.ts'

describe('every dialog by keyboard alone', () => {
  const walk = prepareDialogs('dialogs')

  for (const entry of dialogCases) if (!firstOfEachPage.includes(entry)) testDialog(walk, entry)
})
