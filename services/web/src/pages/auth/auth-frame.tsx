import { type ReactNode, useRef } from 'react'
import { useNewPage } from '../../components/page-frame.tsx'
import { LanguageSelect, ThemeToggle } from '../../components/preferences.tsx'
import { Wordmark } from '../../components/wordmark.tsx'
import { useInstanceInfo } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'

type Props = { title: string; subtitle?: ReactNode; above?: ReactNode; children: ReactNode }

export function AuthFrame({ title, subtitle, above, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useNewPage(heading, title)
  return (
    <div className="auth">
      <div className="auth__illustration">
        <AuthIllustration />
      </div>
      <main className="auth__content">
        <div className="auth__header">
          <Wordmark />
          <div className="auth__choices">
            <LanguageSelect />
            <ThemeToggle />
          </div>
        </div>
        <div className="auth__form">
          <div className="auth__heading">
            {above}
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {subtitle && <p className="auth__subtitle">{subtitle}</p>}
          </div>
          {children}
        </div>
        <About />
      </main>
    </div>
  )
}

/** What the instance says of itself. Contract: 5, Settings. */
function About() {
  const { info } = useInstanceInfo()
  if (!info?.description && !info?.rules && !info?.contact) return null
  return (
    <div className="auth__about stack stack--tight">
      {info.description && (
        <p>
          <bdi>{info.description}</bdi>
        </p>
      )}
      {info.contact && (
        <p>
          <Phrase text="Contact: {contact}" values={{ contact: <bdi>{info.contact}</bdi> }} />
        </p>
      )}
      {info.rules && (
        <details>
          <summary>{t('Rules')}</summary>
          <p dir="auto">{info.rules}</p>
        </details>
      )}
    </div>
  )
}

/** From back to front: name, color by day, color by night, width of the line or 0, path. */
const layers = [
  'stars transparent #f4efe0 3.5 M96 120h0M210 64h0M318 170h0M420 84h0M640 96h0M150 220h0',
  'sun #fff6dc #f2ead2 0 M508 236a52 52 0 1 0 104 0 52 52 0 1 0-104 0z',
  'far-hills #b6d8d0 #173139 0 M0 560c120-90 200-70 300-30s170 30 250-20 130-50 170-40v430H0z',
  'near-hills #93c1b6 #12272c 0 M0 640c110-40 230-44 330-20s260 20 390-30v310H0z',
  'wall #6a9f93 #16302f 0 M0 900V540h36v22h36v-22h36v22h36v-22h36v22h360v-22h36v22h36v-22h36v22h36v-22h36v22h36v338z',
  'tower #2f6d61 #1d3f3c 0 M160 900V356h34v26h33v-26h33v26h33v-26h33v90h68v-90h33v26h33v-26h33v26h33v-26h34v544z',
  'shade #245a50 #152f2d 0 M293 382h33v518h-33zM527 382h33v518h-33zM326 446h68v14h-68z',
  'windows #17433b #ffc857 0 M212 470a10 10 0 0 1 20 0v42h-20zM466 470a10 10 0 0 1 20 0v42h-20zM348 500a12 12 0 0 1 24 0v28h-24z',
  'arch #1c4b42 #0b1b1a 0 M282 900V648a78 78 0 0 1 156 0v252z',
  'gate #f6d487 #e39a2b 0 M298 900V648a62 62 0 0 1 124 0v252z',
  'courtyard #fdf0cb #ffdf95 0 M326 900V712a34 34 0 0 1 68 0v188z',
  'portcullis #1c4b42 #0b1b1a 5 M318 602v62l3 8 3-8v-66m12-8v84l3 8 3-8v-86m12-2v96l3 8 3-8v-96m12 2v86l3 8 3-8v-84m12 8v66l3 8 3-8v-60M304 622h112M299 650h122',
  'chains #1c4b42 #0b1b1a 4 M252 618v22M468 618v22',
  'lamps #f6d487 #ffc857 0 M243 664v-12a9 9 0 0 1 18 0v12zM459 664v-12a9 9 0 0 1 18 0v12z',
  'ground #4d8a7a #0e2120 0 M0 838c180-16 540-16 720 0v62H0z',
  'path #f7dfa6 #a8711f 0 M298 828h124l92 72H206z',
]

/** A gatehouse by day, and at night in the dark theme. Decorative. */
function AuthIllustration() {
  return (
    <svg className="illustration" viewBox="0 0 720 900" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      {layers.map((layer) => {
        const [name, day, night, width, ...path] = layer.split(' ')
        const [painted, other] = width === '0' ? (['fill', 'stroke'] as const) : (['stroke', 'fill'] as const)
        // Without light-dark() it is day.
        const paint = { [painted]: day, [other]: 'none', style: { [painted]: `light-dark(${day}, ${night})` } }
        return <path key={name} d={path.join(' ')} strokeWidth={width} strokeLinecap="round" {...paint} />
      })}
    </svg>
  )
}
