# frozen_string_literal: true

# A WSDL fetched from the server, a call, a fault.
class SavonSDK < SDK
  about "Savon", gem: "savon", over: "httpi (net_http)"

  ENVELOPE = %(<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>%s</soap:Body></soap:Envelope>)
  FAULT = "<soap:Fault><faultcode>soap:Client</faultcode><faultstring>no such user</faultstring></soap:Fault>"
  WSDL = <<~XML
    <definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"
      xmlns:tns="urn:users" targetNamespace="urn:users" name="Users">
      <portType name="Users"><operation name="Find"/></portType>
      <binding name="UsersBinding" type="tns:Users">
        <soap:binding style="rpc" transport="http://schemas.xmlsoap.org/soap/http"/>
        <operation name="Find"><soap:operation soapAction="urn:users#Find"/></operation>
      </binding>
      <service name="Users"><port name="Users" binding="tns:UsersBinding">
        <soap:address location="http://HOST/soap"/></port></service>
    </definitions>
  XML

  def respond(request)
    return response_bytes(WSDL.sub("HOST", request["host"]), "Content-Type" => "text/xml") if request.verb == "GET"
    return soap(FAULT, status: "500 Internal Server Error") if request.body.include?(">2<")

    soap("<FindResponse><name>é</name></FindResponse>")
  end

  def call
    require "savon"
    client = Savon.client(wsdl: "#{url}/users?wsdl", adapter: :net_http, log: false)
    record("operations") { client.operations }
    record("call") { client.call(:find, message: { id: 1 }).body }
    record("fault") { client.call(:find, message: { id: 2 }) }
  end

  private

  def soap(content, **options)
    response_bytes(format(ENVELOPE, content), "Content-Type" => "text/xml;charset=utf-8", **options)
  end
end
