import { openEnginePage } from './engine-page.ts'
import { engines, makePicture, registerInTwoSteps } from './engines.ts'
import { sharedInstance } from './start-instance.ts'

describe('another engine than Chromium', () => {
  // engines.system.test.ts has all journeys.
  for (const { name, launch } of engines) {
    it(`${name}: registers in two steps, with a picture`, async () => {
      await using resources = new AsyncDisposableStack()
      const page = openEnginePage(resources.use(await launch()))
      const username = `${name.toLowerCase()}_ida`
      const picture = await makePicture(resources)

      await registerInTwoSteps(page, await sharedInstance(), { username, password: 'a long password', picture })
    })
  }
})
