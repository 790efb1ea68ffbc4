/** A gatehouse, by day in the light theme and at night in the dark theme. Decorative. */
export function AuthIllustration() {
  return (
    <svg className="illustration" viewBox="0 0 720 900" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      <g className="illustration__stars">
        <circle cx="96" cy="120" r="2" />
        <circle cx="210" cy="64" r="1.6" />
        <circle cx="318" cy="170" r="1.8" />
        <circle cx="420" cy="84" r="1.5" />
        <circle cx="640" cy="96" r="2" />
        <circle cx="60" cy="300" r="1.6" />
        <circle cx="668" cy="318" r="1.5" />
        <circle cx="150" cy="220" r="1.4" />
      </g>
      <circle className="illustration__sun" cx="560" cy="236" r="52" />
      <path className="illustration__far-hills" d="M0 560c120-90 200-70 300-30s170 30 250-20 130-50 170-40v430H0z" />
      <path className="illustration__near-hills" d="M0 640c110-40 230-44 330-20s260 20 390-30v310H0z" />
      <path
        className="illustration__wall"
        d="M0 900V540h36v22h36v-22h36v22h36v-22h36v22h360v-22h36v22h36v-22h36v22h36v-22h36v22h36v338z"
      />
      <path
        className="illustration__tower"
        d="M160 900V356h34v26h33v-26h33v26h33v-26h33v90h68v-90h33v26h33v-26h33v26h33v-26h34v544z"
      />
      <path className="illustration__shade" d="M293 382h33v518h-33zM527 382h33v518h-33zM326 446h68v14h-68z" />
      <path
        className="illustration__windows"
        d="M212 470a10 10 0 0 1 20 0v42h-20zM466 470a10 10 0 0 1 20 0v42h-20zM348 500a12 12 0 0 1 24 0v28h-24z"
      />
      <path className="illustration__arch" d="M282 900V648a78 78 0 0 1 156 0v252z" />
      <path className="illustration__gate" d="M298 900V648a62 62 0 0 1 124 0v252z" />
      <path className="illustration__courtyard" d="M326 900V712a34 34 0 0 1 68 0v188z" />
      <path
        className="illustration__portcullis"
        d="M318 602v62l3 8 3-8v-66m12-8v84l3 8 3-8v-86m12-2v96l3 8 3-8v-96m12 2v86l3 8 3-8v-84m12 8v66l3 8 3-8v-60M304 622h112M299 650h122"
      />
      <path className="illustration__chains" d="M252 618v22M468 618v22" />
      <path className="illustration__lamps" d="M243 664v-12a9 9 0 0 1 18 0v12zM459 664v-12a9 9 0 0 1 18 0v12z" />
      <path className="illustration__ground" d="M0 838c180-16 540-16 720 0v62H0z" />
      <path className="illustration__path" d="M298 828h124l92 72H206z" />
    </svg>
  )
}
